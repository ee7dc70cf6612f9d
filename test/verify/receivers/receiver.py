"""A correct receiver in Python's standard library. Events are stored in SQLite before they are acknowledged, and
handled once, in the transaction that says so. The counts are read back at /handled/{event id}."""

import hashlib
import hmac
import json
import os
import re
import sqlite3
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ["SIGNING_SECRET"].encode()
DATABASE = sqlite3.connect(os.environ.get("DATABASE", ":memory:"), check_same_thread=False, isolation_level=None)
DATABASE.execute("PRAGMA journal_mode = WAL")
DATABASE.execute("PRAGMA synchronous = FULL")
DATABASE.execute("CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY, body BLOB, handled INTEGER NOT NULL DEFAULT 0)")
LOCK = threading.Lock()
ARRIVED = threading.Event()


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 10

    def do_GET(self):
        if not self.path.startswith("/handled/"):
            return self.answer(405)
        with LOCK:
            row = DATABASE.execute("SELECT handled FROM events WHERE id = ?", (self.path[9:],)).fetchone()
        self.answer(200, {"handled": row[0] if row else 0})

    def do_POST(self):
        body = self.read_body()
        if body is None:
            return self.answer(400)
        if not verified(self.headers.get_all("X-Service-Signature") or [], body):
            return self.answer(401)
        try:
            event_id = json.loads(body)["id"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return self.answer(400)
        if not isinstance(event_id, str):
            return self.answer(400)
        with LOCK:
            DATABASE.execute("INSERT OR IGNORE INTO events (id, body) VALUES (?, ?)", (event_id, body))
        ARRIVED.set()
        self.answer(200, {"received": True})

    def read_body(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            body = b""
            while True:
                size = int(self.rfile.readline(20), 16)
                body += self.rfile.read(size)
                self.rfile.readline(4)
                if size == 0:
                    return body
        try:
            length = int(self.headers.get("Content-Length", "0"))
        except ValueError:
            return None
        if not 0 <= length <= 4_000_000:
            self.close_connection = True
            return None
        body = self.rfile.read(length)
        return body if len(body) == length else None

    def answer(self, status, body=None):
        data = json.dumps(body or {}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments):
        pass


def verified(headers, body):
    if len(headers) != 1:
        return False
    pairs = [pair.partition("=") for pair in headers[0].split(",")]
    times = [value for key, _, value in pairs if key == "t"]
    if len(times) != 1 or not re.fullmatch(r"[0-9]{1,15}", times[0]):
        return False
    if abs(int(time.time()) - int(times[0])) > 300:
        return False
    expected = hmac.new(SECRET, times[0].encode() + b"." + body, hashlib.sha256).hexdigest()
    return any(
        key == "v1" and re.fullmatch(r"[0-9a-f]{64}", value) and hmac.compare_digest(value, expected)
        for key, _, value in pairs
    )


def handle_events():
    while True:
        ARRIVED.wait(1)
        ARRIVED.clear()
        with LOCK:
            DATABASE.execute("UPDATE events SET handled = 1 WHERE handled = 0")


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        pass  # A client that is gone is no error of ours.


threading.Thread(target=handle_events, daemon=True).start()
Server(("127.0.0.1", int(os.environ["PORT"])), Receiver).serve_forever()
