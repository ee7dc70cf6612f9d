# A receiver on Sinatra. Start it: ruby sinatra_app.rb
require "json"
require "openssl"
require "sinatra"
require "sqlite3"

SECRET = ENV.fetch("SIGNING_SECRET")
DATABASE = SQLite3::Database.new(ENV.fetch("DATABASE", "events.db"))
# FULL: a stored event is on disk, so an event answered with 200 survives a crash.
DATABASE.execute_batch(<<~SQL)
  PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
  CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY, body BLOB NOT NULL, handled INTEGER NOT NULL DEFAULT 0)
SQL
LOCK = Mutex.new
ARRIVED = Queue.new

set :bind, "127.0.0.1"
set :port, ENV.fetch("PORT", "3000")
set :environment, :production

post "/webhooks" do
  content_type :json
  # The trap: the signature covers the received bytes. JSON.generate(JSON.parse(body)) gives other bytes,
  # and params has none. This is the body as it came.
  body = request.body.read
  halt 401, JSON.generate(error: "invalid_signature") unless signed?(request.env["HTTP_X_SERVICE_SIGNATURE"], body)
  parsed = begin
    JSON.parse(body)
  rescue JSON::ParserError
    nil
  end
  id = parsed["id"] if parsed.is_a?(Hash)
  halt 400, JSON.generate(error: "no_event") unless id.is_a?(String)
  # A duplicate changes nothing, and is answered like the first. An error here answers 500.
  event = [id, SQLite3::Blob.new(body)]
  LOCK.synchronize { DATABASE.execute("INSERT OR IGNORE INTO events (id, body) VALUES (?, ?)", event) }
  ARRIVED << id
  JSON.generate(received: true)
end

get "/handled/:id" do # For verify --observe; leave it out where strangers can reach it.
  handled = LOCK.synchronize { DATABASE.get_first_value("SELECT handled FROM events WHERE id = ?", [params["id"]]) }
  JSON.generate(handled: handled || 0)
end

# t=<unix seconds>,v1=<HMAC-SHA256 of t, a period and the body, in hexadecimal>, at most 300 s old
def signed?(header, body)
  pairs = header.to_s.split(",").map { |pair| pair.split("=", 2) }
  _, t = pairs.find { |key, _| key == "t" }
  return false unless t&.match?(/\A\d+\z/) && (Time.now.to_i - t.to_i).abs <= 300
  expected = OpenSSL::HMAC.hexdigest("SHA256", SECRET, "#{t}.".b + body.b)
  pairs.any? { |key, v1| key == "v1" && OpenSSL.secure_compare(v1.to_s, expected) }
end

# Does the work after the answer, which must be sent within ten seconds. At the start, it finishes what a crash interrupted.
Thread.new do
  loop do
    ARRIVED.clear
    waiting = LOCK.synchronize { DATABASE.execute("SELECT id, body FROM events WHERE handled = 0") }
    waiting.each do |id, _body|
      # Your work. Pass the id as idempotency key: a crash between here and the next line repeats it.
      LOCK.synchronize { DATABASE.execute("UPDATE events SET handled = handled + 1 WHERE id = ?", [id]) }
    rescue StandardError => error
      warn "#{id}: #{error.full_message}" # It is retried when the next event comes, and does not block later ones.
    ensure
      Thread.pass # Whoever unlocks and locks at once gets the lock before those who wait: requests go first.
    end
    ARRIVED.pop
  end
end
