"""A receiver on Python's own http.server, with nothing to install. Start it: python3 http_server.py"""

import hashlib, hmac, json, logging, os, sqlite3, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ["SIGNING_SECRET"].encode()
MOST_BYTES = 1_048_576
DATABASE = sqlite3.connect(os.environ.get("DATABASE", "events.db"), check_same_thread=False, isolation_level=None)
# FULL: a stored event is on disk, so an event answered with 200 survives a crash.
DATABASE.executescript("""PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY, body BLOB NOT NULL, handled INTEGER NOT NULL DEFAULT 0)""")
LOCK, ARRIVED = threading.Lock(), threading.Event()


class Receiver(BaseHTTPRequestHandler):
    timeout = 10

    def do_GET(self):  # For verify --observe; leave it out where strangers can reach it.
        with LOCK:
            row = DATABASE.execute("SELECT handled FROM events WHERE id = ?", (self.path.split("/")[-1],)).fetchone()
        self.answer(200, {"handled": row[0] if row else 0})

    def do_POST(self):
        # The trap: the signature covers the received bytes. json.dumps(json.loads(body)) gives other bytes.
        body = self.read_body()
        if not is_signed(self.headers.get("X-Service-Signature", ""), body):
            return self.answer(401, {"error": "invalid_signature"})
        try:
            event_id = str(json.loads(body)["id"])
        except (ValueError, KeyError, TypeError, RecursionError):
            return self.answer(400, {"error": "no_event"})
        with LOCK:  # A duplicate changes nothing, and is answered like the first.
            DATABASE.execute("INSERT OR IGNORE INTO events (id, body) VALUES (?, ?)", (event_id, body))
        ARRIVED.set()
        self.answer(200, {"received": True})

    def read_body(self):  # http.server does not read chunked bodies, and a proxy may send one.
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(max(0, min(int(self.headers.get("Content-Length", 0)), MOST_BYTES)))
        body, size = b"", 1
        while size > 0 and len(body) < MOST_BYTES:
            size = max(0, min(int(self.rfile.readline(20), 16), MOST_BYTES))
            body += self.rfile.read(size + 2)[:size]
        return body

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())


def is_signed(header, body):
    """t=<unix seconds>,v1=<HMAC-SHA256 of t, a period and the body, in hexadecimal>, at most 300 s old"""
    pairs = [pair.partition("=") for pair in header.split(",")]
    t = next((value for key, _, value in pairs if key == "t"), "")
    if not (t.isascii() and t.isdigit()) or abs(int(time.time()) - int(t)) > 300:
        return False
    expected = hmac.new(SECRET, t.encode() + b"." + body, hashlib.sha256).hexdigest()
    return any(key == "v1" and hmac.compare_digest(value.encode(), expected.encode()) for key, _, value in pairs)


def handle_events():
    """Does the work after the answer, which must be sent within ten seconds. At the start, it finishes what a crash interrupted."""
    while True:
        with LOCK:
            ARRIVED.clear()
            waiting = DATABASE.execute("SELECT id, body FROM events WHERE handled = 0").fetchall()
        for event_id, body in waiting:
            try:
                # Your work. Pass the id as idempotency key: a crash between here and the next line repeats it.
                with LOCK:
                    DATABASE.execute("UPDATE events SET handled = handled + 1 WHERE id = ?", (event_id,))
            except Exception:  # It is retried when the next event comes, and does not block later ones.
                logging.exception(event_id)
        ARRIVED.wait()


ThreadingHTTPServer.request_queue_size = 128  # With the default of 5, some requests of a burst wait for seconds.
threading.Thread(target=handle_events, daemon=True).start()
ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "3000"))), Receiver).serve_forever()
