#!/bin/sh
# Makes the certificates of the sender's tests: one key, three self-signed certificates that differ in what is wrong with
# them. They protect nothing. Needs openssl; run it again only when one of them is to change (they last until 2126).
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

openssl ecparam -name prime256v1 -genkey -noout -out key.pem

certificate() { # name, host, first day, last day
  printf '[req]\ndistinguished_name=dn\n[dn]\n[ca]\ndefault_ca=own\n[own]\ndatabase=%s/index\nrand_serial=yes\ndefault_md=sha256\npolicy=any\nnew_certs_dir=%s\nx509_extensions=ext\n[any]\ncommonName=supplied\n[ext]\nbasicConstraints=critical,CA:TRUE\nsubjectAltName=%s\n' \
    "$work" "$work" "$2" > "$work/$1.conf"
  : > "$work/index"
  openssl req -new -key key.pem -subj "/CN=voice-agent-webhook-kit test ($1)" -config "$work/$1.conf" -out "$work/$1.csr"
  openssl ca -batch -selfsign -notext -config "$work/$1.conf" -keyfile key.pem -in "$work/$1.csr" \
    -startdate "$3" -enddate "$4" -out "$1.pem" 2> /dev/null
}

certificate good "DNS:localhost,IP:127.0.0.1" 20200101000000Z 21260101000000Z
certificate expired "DNS:localhost,IP:127.0.0.1" 20200101000000Z 20200102000000Z
certificate other-host "DNS:elsewhere.example" 20200101000000Z 21260101000000Z
