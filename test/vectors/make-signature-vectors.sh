#!/bin/sh
# Writes signature.json: signed requests, good and bad, made with openssl and not with this project's code, so that a mistake
# in it cannot hide on both sides. Any language can read them: `body` is base64, `headers` lists every value of
# X-Service-Signature in the request, `now` is the receiver's clock, `accepted` is the verdict.
# Usage: test/vectors/make-signature-vectors.sh > test/vectors/signature.json
set -eu

T=1769882709
SECRET=whsec_5f2c81d0a7b94e63c4071e6b92fd4a58
OTHER=whsec_0000000000000000000000000000000f
EVENT='{"id":"evt_0123456789abcdef0123456789abcdef","type":"call.completed","created":1769882709,"api_version":"v1","data":{"object":{"object":"call"}},"org_id":"org_1"}'

hmac() { # t, body as a printf format; secret in the third
  { printf '%s.' "$1"; printf "$2"; } | openssl dgst -sha256 -hmac "${3-$SECRET}" | sed 's/^.*= *//'
}
first=1
vector() { # name, accepted, now, body as a printf format, secrets as JSON, headers as JSON
  [ $first = 1 ] || printf ',\n'
  first=0
  printf '    { "name": "%s", "accepted": %s, "now": %s, "secrets": %s,\n      "headers": %s,\n      "body": "%s" }' \
    "$1" "$2" "$3" "$5" "$6" "$(printf "$4" | openssl base64 -A)"
}
one() { vector "$1" "$2" "${4-$T}" "${5-$EVENT}" "[\"$SECRET\"]" "[\"$3\"]"; }

V=$(hmac $T "$EVENT")
W=$(hmac $T "$EVENT" $OTHER)
UPPER=$(printf %s "$V" | tr a-f A-F)
ZERO=0000000000000000000000000000000000000000000000000000000000000000

printf '{\n  "header": "X-Service-Signature",\n  "tolerance_seconds": 300,\n  "vectors": [\n'

one 'plain' true "t=$T,v1=$V"
one 'the other order' true "v1=$V,t=$T"
one 'unknown keys beside' true "kid=1,t=$T,v0=$ZERO,v1=$V,v2=abc"
one 'an unknown key without a value' true "t=$T,v1=$V,x="
one 'several v1 of which the last matches' true "t=$T,v1=$ZERO,v1=$W,v1=$V"
one 'eight v1 of which one matches' true "t=$T,v1=$ZERO,v1=$ZERO,v1=$ZERO,v1=$V,v1=$ZERO,v1=$ZERO,v1=$ZERO,v1=$ZERO"
one 'nine v1' false "t=$T,v1=$ZERO,v1=$ZERO,v1=$ZERO,v1=$V,v1=$ZERO,v1=$ZERO,v1=$ZERO,v1=$ZERO,v1=$ZERO"
one 'an empty body' true "t=$T,v1=$(hmac $T '')" $T ''
one 'a body of other scripts' true "t=$T,v1=$(hmac $T '{"name":"Žofia 李 🎉"}')" $T '{"name":"Žofia 李 🎉"}'
one 'a body that is not UTF-8' true "t=$T,v1=$(hmac $T '\377\376\000\001')" $T '\377\376\000\001'
one 'a body with a byte order mark' true "t=$T,v1=$(hmac $T '\357\273\277{}')" $T '\357\273\277{}'
one 'the byte order mark signed away' false "t=$T,v1=$(hmac $T '{}')" $T '\357\273\277{}'
one 'a line end at the end of the body' true "t=$T,v1=$(hmac $T '{}\n')" $T '{}\n'
one 'a line end that was not signed' false "t=$T,v1=$(hmac $T '{}')" $T '{}\n'

for age in 0 1 299 300; do
  one "$age s old" true "t=$T,v1=$V" $((T + age))
  one "$age s ahead" true "t=$T,v1=$V" $((T - age))
done
for age in 301 600 31536000; do
  one "$age s old" false "t=$T,v1=$V" $((T + age))
  one "$age s ahead" false "t=$T,v1=$V" $((T - age))
done
one 't of zero, at the beginning of time' true "t=0,v1=$(hmac 0 "$EVENT")" 0
one 't in milliseconds' false "t=${T}000,v1=$(hmac ${T}000 "$EVENT")"

vector 'an older secret beside the new one' true $T "$EVENT" "[\"$OTHER\", \"$SECRET\"]" "[\"t=$T,v1=$V\"]"
vector 'a secret that is not ours' false $T "$EVENT" "[\"$OTHER\"]" "[\"t=$T,v1=$V\"]"
vector 'a secret of other scripts' true $T "$EVENT" '["gehéim-密"]' "[\"t=$T,v1=$(hmac $T "$EVENT" 'gehéim-密')\"]"
one 'another byte in the body' false "t=$T,v1=$V" $T "$(printf %s "$EVENT" | sed 's/org_1/org_2/')"
one 'another t than was signed' false "t=$((T + 1)),v1=$V"
one 'without the t in the signed string' false "t=$T,v1=$(printf "$EVENT" | openssl dgst -sha256 -hmac $SECRET | sed 's/^.*= *//')"

vector 'no header' false $T "$EVENT" "[\"$SECRET\"]" '[]'
vector 'the header twice' false $T "$EVENT" "[\"$SECRET\"]" "[\"t=$T,v1=$V\", \"t=$T,v1=$V\"]"
one 'an empty header' false ''
one 'no t' false "v1=$V"
one 'no v1' false "t=$T"
one 'an empty t' false "t=,v1=$V"
one 'an empty v1' false "t=$T,v1="
one 't twice' false "t=$T,t=$T,v1=$V"
one 't with a leading zero' false "t=0$T,v1=$(hmac 0$T "$EVENT")"
one 't with a sign' false "t=+$T,v1=$(hmac +$T "$EVENT")"
one 'a negative t' false "t=-$T,v1=$(hmac -$T "$EVENT")"
one 't with a fraction' false "t=$T.0,v1=$(hmac $T.0 "$EVENT")"
one 't with an exponent' false "t=17e8,v1=$(hmac 17e8 "$EVENT")"
one 't with letters behind it' false "t=${T}abc,v1=$(hmac ${T}abc "$EVENT")"
one 't that is no number' false "t=NaN,v1=$(hmac NaN "$EVENT")"
one 't of 15 digits, far ahead' false "t=999999999999999,v1=$(hmac 999999999999999 "$EVENT")"
one 't of 15 digits, on time' true "t=999999999999999,v1=$(hmac 999999999999999 "$EVENT")" 999999999999999
one 't of 16 digits' false "t=1000000000000000,v1=$(hmac 1000000000000000 "$EVENT")" 1000000000000000
one 'v1 in upper case' false "t=$T,v1=$UPPER"
one 'v1 one digit short' false "t=$T,v1=${V%?}"
one 'v1 one digit long' false "t=$T,v1=${V}0"
one 'v1 with = behind it' false "t=$T,v1=$V="
one 'v1 with a letter that is no digit' false "t=$T,v1=${V%?}g"
one 'one good v1 beside a malformed one' false "t=$T,v1=$V,v1=zz"
one 'the right digest under another key' false "t=$T,v0=$V"
one 'a key in upper case' false "T=$T,v1=$V"
one 'white space behind the comma' false "t=$T, v1=$V"
one 'white space in front' false " t=$T,v1=$V"
one 'a comma at the end' false "t=$T,v1=$V,"
one 'a comma at the beginning' false ",t=$T,v1=$V"
one 'a pair without =' false "t=$T,v1=$V,flag"
one 'a pair without a key' false "t=$T,v1=$V,=x"
one 'semicolons instead of commas' false "t=$T;v1=$V"
one 'quotes around the digest' false "t=$T,v1=\\\"$V\\\""
one 'the digest alone' false "$V"
one 'a scheme in front' false "sha256=$V"
one '1,024 characters' true "t=$T,v1=$V,x=$(printf '%0941d' 0)"
one '1,025 characters' false "t=$T,v1=$V,x=$(printf '%0942d' 0)"

printf '\n  ]\n}\n'
