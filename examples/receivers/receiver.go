// A receiver on Go's net/http, with nothing to fetch. Start it: go run receiver.go. Whatever does the work reads its file.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

var secret, lock, stored = os.Getenv("SIGNING_SECRET"), sync.Mutex{}, map[string]int{} // By id: lines in the file.

func main() {
	// O_SYNC: a written event is on disk, so an event answered with 200 survives a crash.
	file, err := os.OpenFile(os.Getenv("DATABASE"), os.O_CREATE|os.O_RDWR|os.O_APPEND|os.O_SYNC, 0o600)
	if err != nil || secret == "" {
		log.Fatal("Set SIGNING_SECRET to the secret of your endpoint, and DATABASE to a file to keep its events in.")
	}
	known, _ := io.ReadAll(file)
	for _, line := range strings.Split(string(known), "\n") {
		stored[eventID([]byte(line))]++ // An incomplete line, after a power cut, was never acknowledged.
	}
	http.HandleFunc("/webhooks", func(w http.ResponseWriter, r *http.Request) { receive(w, r, file) })
	http.HandleFunc("/handled/", func(w http.ResponseWriter, r *http.Request) { // For verify --observe.
		lock.Lock()
		defer lock.Unlock()
		fmt.Fprintf(w, `{"handled":%d}`, stored[strings.TrimPrefix(r.URL.Path, "/handled/")])
	})
	log.Fatal((&http.Server{Addr: "127.0.0.1:" + os.Getenv("PORT"), ReadTimeout: 10 * time.Second}).ListenAndServe())
}

func receive(w http.ResponseWriter, r *http.Request, file *os.File) {
	// The trap: the signature covers the received bytes. encoding/json would write other bytes.
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil || !isSigned(r.Header.Get("X-Service-Signature"), body) || eventID(body) == "" {
		http.Error(w, "no signed event", http.StatusUnauthorized)
	} else if store(body, file) != nil {
		http.Error(w, "not stored", http.StatusInternalServerError) // The service delivers it again.
	}
}

// Puts an event on disk before it is acknowledged. A duplicate changes nothing, and is answered like the first.
func store(body []byte, file *os.File) (err error) {
	lock.Lock()
	defer lock.Unlock()
	if id := eventID(body); stored[id] == 0 {
		_, err = file.WriteString("\n" + strings.ReplaceAll(string(body), "\n", " ")) // Always on a new line.
		if err == nil {
			stored[id]++
		}
	}
	return err
}

// t=<unix seconds>,v1=<HMAC-SHA256 of t, a period and the body, in hexadecimal>, at most 300 s old
func isSigned(header string, body []byte) bool {
	pairs, _ := url.ParseQuery(strings.ReplaceAll(header, ",", "&"))
	t, err := strconv.ParseInt(pairs.Get("t"), 10, 64)
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%s.%s", pairs.Get("t"), body)
	expected, age := hex.EncodeToString(mac.Sum(nil)), time.Now().Unix()-t
	return err == nil && age >= -300 && age <= 300 && hmac.Equal([]byte(pairs.Get("v1")), []byte(expected))
}

func eventID(body []byte) string {
	var event struct{ ID string }
	json.Unmarshal(body, &event)
	return event.ID
}
