"""A receiver on Flask. Start it: python3 flask_app.py, or behind a server such as gunicorn: gunicorn flask_app:app"""

import hashlib, hmac, json, logging, os, sqlite3, threading, time

from flask import Flask, jsonify, request

SECRET = os.environ["SIGNING_SECRET"].encode()
ARRIVED = threading.Event()
app = Flask(__name__)
app.config["MAX_CONTENT_LENGTH"] = 1_048_576


def connect():
    database = sqlite3.connect(os.environ.get("DATABASE", "events.db"), isolation_level=None)
    # FULL: a stored event is on disk, so an event answered with 200 survives a crash.
    database.execute("PRAGMA synchronous = FULL")
    return database


@app.post("/webhooks")
def webhooks():
    # The trap: the signature covers the received bytes. request.json is their parsed form, and
    # json.dumps() of it gives other bytes. get_data() returns the bytes, for any Content-Type.
    body = request.get_data()
    if not is_signed(request.headers.get("X-Service-Signature", ""), body):
        return jsonify(error="invalid_signature"), 401
    try:
        event_id = str(json.loads(body)["id"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return jsonify(error="no_event"), 400
    # A duplicate changes nothing, and is answered like the first. An error here answers 500.
    connect().execute("INSERT OR IGNORE INTO events (id, body) VALUES (?, ?)", (event_id, body))
    ARRIVED.set()
    return jsonify(received=True)


@app.get("/handled/<event_id>")
def handled(event_id):  # For verify --observe; leave it out where strangers can reach it.
    row = connect().execute("SELECT handled FROM events WHERE id = ?", (event_id,)).fetchone()
    return jsonify(handled=row[0] if row else 0)


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
    database = connect()
    while True:
        ARRIVED.clear()
        for event_id, body in database.execute("SELECT id, body FROM events WHERE handled = 0").fetchall():
            try:
                # Your work. Pass the id as idempotency key: a crash between here and the next line repeats it.
                database.execute("UPDATE events SET handled = handled + 1 WHERE id = ?", (event_id,))
            except Exception:  # It is retried when the next event comes, and does not block later ones.
                logging.exception(event_id)
        ARRIVED.wait()


connect().executescript("""PRAGMA journal_mode = WAL;
    CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY, body BLOB NOT NULL, handled INTEGER NOT NULL DEFAULT 0)""")
threading.Thread(target=handle_events, daemon=True).start()
if __name__ == "__main__":
    app.run(port=int(os.environ.get("PORT", "3000")))
