#!/bin/sh
# One batch of range.yaml: the prime factors of the numbers on standard input, in a file named after the request and the
# batch.
set -eu
mkdir -p "$OUTPUT"
result=$OUTPUT/$BATON_REQUEST-$(printf %06d "$BATON_BATCH").txt
factor > "$result.$BATON_LAUNCH.part"
mv -- "$result.$BATON_LAUNCH.part" "$result"
