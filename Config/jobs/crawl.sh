#!/bin/sh
# The work of crawl.yaml: one call of an API. It writes when it was made, and takes a second, as a slow answer does.
set -eu
mkdir -p output/crawl
site=$1 what=$2
if [ -n "${CRAWL_URL:-}" ]; then
  curl -fsS -o "output/crawl/$site.$what" "$CRAWL_URL/$site/$what"
else
  sleep 1
  echo "$what of $site" > "output/crawl/$site.$what"
fi
echo "$(date +%H:%M:%S) $site $what" >> output/crawl/calls.log
