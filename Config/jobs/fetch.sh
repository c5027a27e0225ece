#!/bin/sh
# The work of fetch.yaml. BATON_TRANSFERS names a list in JSON with an object for each transfer that has ended.
set -eu
tr '{' '\n' < "$BATON_TRANSFERS" | sed -n 's/.*"path":"\([^"]*\)".*/\1/p' | while IFS= read -r file; do
  printf '%s: %d words\n' "${file##*/}" "$(wc -w < "$file")"
done
tr '{' '\n' < "$BATON_TRANSFERS" | sed -n 's/.*"error":"\([^"]*\)".*/not fetched: \1/p'
