#!/bin/sh
# cursor.sh LAST STEP: the command of cursor.yaml. It looks at STEP numbers, reports its position, and waits until the
# position is durable. Then it looks at the next STEP numbers, up to LAST.
set -eu
last=$1 step=$2
mkdir -p "$OUTPUT"

# The file is empty at the first launch. Afterwards it has the bytes of "checkpoint" as they were written below.
checkpoint=$(cat "$BATON_CHECKPOINT_FILE")
next=$(expr "$checkpoint" : '.*"next": *\([0-9]*\)') || next=1
best=$(expr "$checkpoint" : '.*"best": *\([0-9]*\)') || best=1
length=$(expr "$checkpoint" : '.*"length": *\([0-9]*\)') || length=1

while [ "$next" -le "$last" ]; do
  # The launch was asked to stop, and what was reported is durable. The status is not 0, because 0 means: all is done.
  if [ -e "$BATON_EXPIRY_FILE" ]; then
    echo "stopping before $next: $(cat "$BATON_EXPIRY_FILE")"
    exit 75
  fi

  end=$((next + step - 1))
  [ "$end" -le "$last" ] || end=$last
  found=$(awk -v first="$next" -v last="$end" -v best="$best" -v longest="$length" 'BEGIN {
    for (n = first; n <= last; n++) {
      value = n
      for (steps = 1; value != 1; steps++) value = value % 2 ? 3 * value + 1 : value / 2
      if (steps > longest) { best = n; longest = steps }
    }
    print best, longest
  }')
  best=${found% *} length=${found#* } next=$((end + 1))

  printf '{"checkpoint": {"next": %d, "best": %d, "length": %d}, "completed": %d, "total": %d, "subtitle": "%d so far"}\n' \
    "$next" "$best" "$length" "$end" "$last" "$best" >&"$BATON_PROGRESS_FD"
  # The answer is {"committed": n}: from here on, no number before `next` is looked at again.
  read -r _ <&"$BATON_COMMIT_FD"
done

echo "up to $last, $best has the longest sequence: $length numbers" | tee -a "$OUTPUT/collatz.txt"
