#!/bin/sh
# Wait until an endpoint is ready, then score one row: smoke.sh URL ROW, with the token in SOEL_TOKEN.
set -eu
url=$1 row=$2
for try in $(seq 60); do
  curl -fsS "$url/health/ready" >/dev/null 2>&1 && break
  [ "$try" -lt 60 ] || { echo "$url is not ready" >&2; exit 1; }
  sleep 1
done
test "$(curl -s -o /dev/null -w '%{http_code}' "$url/v1/model")" = 401
curl -fsS -H "Authorization: Bearer $SOEL_TOKEN" -H 'Content-Type: application/json' -d "{\"rows\": [$row]}" "$url/v1/score" | grep '"score"'
curl -fsS -H "Authorization: Bearer $SOEL_TOKEN" "$url/metrics" | grep '^soel_rows_total 1'
