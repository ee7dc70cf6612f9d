"""A receiver on FastAPI. Start it: uvicorn fastapi_app:app --port 3000 (pip install fastapi uvicorn)"""

import asyncio, hashlib, hmac, json, logging, os, sqlite3, time
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

SECRET = os.environ["SIGNING_SECRET"].encode()
MOST_BYTES = 1_048_576
DATABASE = sqlite3.connect(os.environ.get("DATABASE", "events.db"), check_same_thread=False, isolation_level=None)
# FULL: a stored event is on disk, so an event answered with 200 survives a crash.
DATABASE.executescript("""PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY, body BLOB NOT NULL, handled INTEGER NOT NULL DEFAULT 0)""")
ARRIVED = asyncio.Event()


@asynccontextmanager
async def lifespan(_app):
    worker = asyncio.create_task(handle_events())
    yield
    worker.cancel()


app = FastAPI(lifespan=lifespan)


@app.post("/webhooks")
async def webhooks(request: Request):
    # The trap: the signature covers the received bytes, and a parameter of a Pydantic model gets only parsed data.
    body = await request.body()
    if len(body) > MOST_BYTES or not is_signed(request.headers.getlist("X-Service-Signature"), body):
        return JSONResponse({"error": "invalid_signature"}, 401)
    try:
        event_id = str(json.loads(body)["id"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return JSONResponse({"error": "no_event"}, 400)
    # A duplicate changes nothing, and is answered like the first. An error here answers 500.
    DATABASE.execute("INSERT OR IGNORE INTO events (id, body) VALUES (?, ?)", (event_id, body))
    ARRIVED.set()
    return {"received": True}


@app.get("/handled/{event_id}")
async def handled(event_id: str):  # For verify --observe; leave it out where strangers can reach it.
    row = DATABASE.execute("SELECT handled FROM events WHERE id = ?", (event_id,)).fetchone()
    return {"handled": row[0] if row else 0}


def is_signed(headers, body):
    """t=<unix seconds>,v1=<HMAC-SHA256 of t, a period and the body, in hexadecimal>, at most 300 s old"""
    pairs = [pair.partition("=") for header in headers for pair in header.split(",")]
    times = [value for key, _, value in pairs if key == "t"]
    if len(times) != 1 or not (times[0].isascii() and times[0].isdigit()) or abs(int(time.time()) - int(times[0])) > 300:
        return False
    expected = hmac.new(SECRET, times[0].encode() + b"." + body, hashlib.sha256).hexdigest()
    return any(key == "v1" and hmac.compare_digest(value.encode(), expected.encode()) for key, _, value in pairs)


async def handle_events():
    """Does the work after the answer, which must be sent within ten seconds. At the start, it finishes what a crash interrupted."""
    while True:
        ARRIVED.clear()
        for event_id, body in DATABASE.execute("SELECT id, body FROM events WHERE handled = 0").fetchall():
            try:
                # Your work. Pass the id as idempotency key: a crash between here and the next line repeats it.
                DATABASE.execute("UPDATE events SET handled = handled + 1 WHERE id = ?", (event_id,))
            except Exception:  # It is retried when the next event comes, and does not block later ones.
                logging.exception(event_id)
            await asyncio.sleep(0)
        await ARRIVED.wait()
