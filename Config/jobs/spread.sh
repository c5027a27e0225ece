#!/bin/sh
# One batch of spread.yaml: adds the SHA-256 of the files named as arguments to the file of its shard.
set -eu
mkdir -p "$OUTPUT"

# Files that this user may not read, or that were deleted meanwhile, are named in the output and left out.
for file; do
  shift
  if [ -r "$file" ]; then set -- "$@" "$file"; else echo "cannot be read: $file"; fi
done
[ "$#" -gt 0 ] || exit 0

# All lines of the batch are written in one piece, after the work is done: a batch that is killed before leaves nothing.
sha256sum -- "$@" > "$TMPDIR/sums"
cat "$TMPDIR/sums" >> "$OUTPUT/$BATON_REQUEST-$BATON_SHARD.txt"
