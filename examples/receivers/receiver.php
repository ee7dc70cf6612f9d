<?php
// A receiver for PHP. Start both: php -S 127.0.0.1:3000 receiver.php, and php receiver.php, which does the work.
$secret = getenv('SIGNING_SECRET') ?: throw new RuntimeException('Set SIGNING_SECRET to the secret of your endpoint.');

$database = new PDO('sqlite:' . (getenv('DATABASE') ?: 'events.db'), options: [PDO::ATTR_TIMEOUT => 5]);
// FULL: a stored event is on disk, so an event answered with 200 survives a crash.
$database->exec('PRAGMA journal_mode = WAL');
$database->exec('PRAGMA synchronous = FULL');
$database->exec('CREATE TABLE IF NOT EXISTS events
    (id TEXT PRIMARY KEY, body BLOB NOT NULL, handled INTEGER NOT NULL DEFAULT 0)');

if (PHP_SAPI === 'cli') {
    handle_events($database);
} elseif ($_SERVER['REQUEST_METHOD'] === 'POST') {
    receive($database, $secret);
} else { // For verify --observe; leave it out where strangers can reach it.
    $find = $database->prepare('SELECT handled FROM events WHERE id = ?');
    $find->execute([basename($_SERVER['REQUEST_URI'])]);
    answer(200, ['handled' => (int) $find->fetchColumn()]);
}

function receive(PDO $database, string $secret): void
{
    // The trap: the signature covers the received bytes, and json_encode(json_decode($body)) gives other bytes.
    $body = file_get_contents('php://input');
    if (!is_signed($_SERVER['HTTP_X_SERVICE_SIGNATURE'] ?? '', $body, $secret)) {
        answer(401, ['error' => 'invalid_signature']);
        return;
    }
    $id = json_decode($body, true)['id'] ?? null;
    if (!is_string($id)) {
        answer(400, ['error' => 'no_event']);
        return;
    }
    // A duplicate changes nothing, and is answered like the first. An error here answers 500.
    $database->prepare('INSERT INTO events (id, body) VALUES (?, ?) ON CONFLICT DO NOTHING')->execute([$id, $body]);
    answer(200, ['received' => true]);
}

/** t=<unix seconds>,v1=<HMAC-SHA256 of t, a period and the body, in hexadecimal>, at most 300 s old. */
function is_signed(string $header, string $body, string $secret): bool
{
    $pairs = array_map(fn ($pair) => explode('=', $pair, 2) + ['', ''], explode(',', $header));
    $t = array_column($pairs, 1, 0)['t'] ?? '';
    if (!ctype_digit($t) || abs(time() - (int) $t) > 300) {
        return false;
    }
    $expected = hash_hmac('sha256', "$t.$body", $secret);
    foreach ($pairs as [$key, $v1]) {
        if ($key === 'v1' && hash_equals($expected, $v1)) {
            return true;
        }
    }
    return false;
}

/** Does the work after the answer, which must be sent within ten seconds. It first finishes what a crash interrupted. */
function handle_events(PDO $database): never
{
    while (true) {
        foreach ($database->query('SELECT id, body FROM events WHERE handled = 0')->fetchAll() as ['id' => $id]) {
            try {
                // Your work. Pass the id as idempotency key: a crash between here and the next line repeats it.
                $database->prepare('UPDATE events SET handled = handled + 1 WHERE id = ?')->execute([$id]);
            } catch (Throwable $error) {
                error_log("$id: $error"); // It is retried in a moment, and does not block later ones.
            }
        }
        usleep(200_000);
    }
}

function answer(int $status, array $body): void
{
    http_response_code($status);
    header('Content-Type: application/json');
    echo json_encode($body);
}
