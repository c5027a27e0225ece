#!/bin/sh
# cursor.sh LAST STEP: the command of cursor.yaml. Looks at STEP numbers, says how far it is, waits until that is durable.
set -eu
last=$1 step=$2
mkdir -p "$OUTPUT"

# Empty at the first launch; afterwards the bytes of "checkpoint" as they were written below.
checkpoint=$(cat "$BATON_CHECKPOINT_FILE")
next=$(expr "$checkpoint" : '.*"next": *\([0-9]*\)') || next=1
best=$(expr "$checkpoint" : '.*"best": *\([0-9]*\)') || best=1
length=$(expr "$checkpoint" : '.*"length": *\([0-9]*\)') || length=1

while [ "$next" -le "$last" ]; do
  # Asked to stop: what was reported is durable. Another status than 0, because 0 means that all is done.
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
  # {"committed": n}: from here on nothing before `next` is ever looked at again.
  read -r _ <&"$BATON_COMMIT_FD"
done

echo "up to $last, $best has the longest sequence: $length numbers" | tee -a "$OUTPUT/collatz.txt"
