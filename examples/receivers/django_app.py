"""A receiver on Django, in one file. Start it: gunicorn django_app:application -b 127.0.0.1:3000 (pip install django gunicorn)

Under WSGI Django reads as many bytes as Content-Length says, so a chunked body is empty: run it behind nginx, which collects
the body and states its length, or under ASGI (uvicorn django_app:asgi)."""

import hashlib, hmac, json, logging, os, sqlite3, threading, time

import django
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.core.wsgi import get_wsgi_application
from django.http import JsonResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

SECRET = os.environ["SIGNING_SECRET"].encode()
ARRIVED = threading.Event()


def connect():  # With the ORM: an Event model with a unique id, and Event.objects.get_or_create(id=…) in the view.
    database = sqlite3.connect(os.environ.get("DATABASE", "events.db"), isolation_level=None)
    # FULL: a stored event is on disk, so an event answered with 200 survives a crash.
    database.execute("PRAGMA synchronous = FULL")
    return database


@csrf_exempt  # The service has no cookie of yours: its signature proves the request.
@require_POST
def webhooks(request):
    # The trap: the signature covers the received bytes. request.body has them; read it before request.POST.
    body = request.body
    if not is_signed(request.headers.get("X-Service-Signature", ""), body):
        return JsonResponse({"error": "invalid_signature"}, status=401)
    try:
        event_id = str(json.loads(body)["id"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return JsonResponse({"error": "no_event"}, status=400)
    # A duplicate changes nothing, and is answered like the first. An error here answers 500.
    connect().execute("INSERT OR IGNORE INTO events (id, body) VALUES (?, ?)", (event_id, body))
    ARRIVED.set()
    return JsonResponse({"received": True})


def handled(_request, event_id):  # For verify --observe; leave it out where strangers can reach it.
    row = connect().execute("SELECT handled FROM events WHERE id = ?", (event_id,)).fetchone()
    return JsonResponse({"handled": row[0] if row else 0})


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
urlpatterns = [path("webhooks", webhooks), path("handled/<event_id>", handled)]
settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["127.0.0.1", "localhost"], DATA_UPLOAD_MAX_MEMORY_SIZE=1_048_576)
django.setup()
threading.Thread(target=handle_events, daemon=True).start()
application, asgi = get_wsgi_application(), get_asgi_application()
