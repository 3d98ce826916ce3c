#!/usr/bin/env bash
# A complete worker of the HTTP protocol in shell, with curl and jq.
#
#     JOBS_URL=http://127.0.0.1:8000 JOBS_TOKEN=... bash examples/workers/worker.sh
#
# It renews the lease of the job it works on, stops working when the claim is lost, repeats calls whose answer was
# lost, and gives its job back on SIGTERM or SIGINT.
set -uo pipefail
export LC_ALL=C

lease=${LEASE_SECONDS:-60}
third=$(awk -v lease="$lease" 'BEGIN { print lease / 3 }')
longest_pause=${LONGEST_PAUSE_SECONDS:-5}
worker_id=$(jq -Rn --arg id "${WORKER_ID:-$(hostname)-$$-shell}" '$id') # as JSON
grace=5 # seconds after a signal; what could not be told to the server by then is left to the lease
folder=$(mktemp -d)

# The work: the payload as $1. What it prints is the job's result as JSON; when it fails, what it says to stderr is
# the reason.
execute() {
  sleep "$(jq '.seconds // 0' <<<"$1")"
  jq -ce '{pixels: (.width * .height)}' <<<"$1"
}

longer() { awk -v pause="$1" -v most="$longest_pause" 'BEGIN { print pause * 2 < most ? pause * 2 : most }'; }

# call PATH BODY: POST until there is an answer; all calls here carry what makes that safe. Prints the answer.
# Returns 0 for a success and 1 for a refusal: the claim is lost, or this program is wrong.
call() {
  local pause=0.1 answer status wait
  while true; do
    answer=$(curl -sS --max-time 30 -w '\n%{http_code} %header{retry-after}' -X POST "$JOBS_URL$1" \
      -H "Authorization: Token $JOBS_TOKEN" -H 'Content-Type: application/json' --data-binary @- 2>&1 <<<"$2")
    read -r status wait <<<"${answer##*$'\n'}"
    case $status in
      2??) printf '%s' "${answer%$'\n'*}"; return 0 ;;
      4[0-1]? | 42[0-8]) echo "$1: $status ${answer%$'\n'*}" >&2; return 1 ;;
    esac
    echo "$1: ${answer%$'\n'*}; again in ${wait:-$pause} s" >&2
    sleep "${wait:-$pause}"
    pause=$(longer "$pause")
  done
}

# Renews the lease of job $1 with token $2 at a third of its time, until there is no use in the work any more, or
# nobody who does it: a killed worker's heartbeat must not live on.
heartbeat() {
  local answer
  while sleep "$third" && kill -0 $$; do
    answer=$(call "/jobs/$1/heartbeat" "{\"fencing_token\": $2, \"lease_seconds\": $lease}") || return
    [ "$(jq .cancel_requested <<<"$answer")" = false ] || return
  done
}

# Ends a background job of this shell and what it started.
end() {
  kill -TERM -- "-$1" 2>/dev/null
  wait "$1" 2>/dev/null
}

stopping=
trap 'deadline=$((SECONDS + grace)); stopping=1' TERM INT
set -m # each background job gets a process group, so that it can be ended as a whole

# Waits until this shell is gone. If it was killed, ends what it had started, which is named in .groups.
guard() {
  local group
  while kill -0 $$ 2>/dev/null; do sleep 0.3; done
  for group in $(cat "$folder/.groups" 2>/dev/null); do kill -KILL -- "-$group" 2>/dev/null; done
  rm -rf "$folder"
}
guard </dev/null >/dev/null 2>&1 &
guard=$!
trap 'end "$guard"; rm -rf "$folder"' EXIT

# ask PATH BODY: call, in the background, where a signal is heard meanwhile; the answer is in $folder/answer.
ask() {
  local pid
  rm -f "$folder/code"
  { call "$1" "$2" >"$folder/answer"; echo $? >"$folder/code"; } &
  pid=$!
  echo "$pid" >"$folder/.groups"
  while kill -0 "$pid" 2>/dev/null; do
    if [ -z "$stopping" ]; then wait "$pid"
    elif [ "$SECONDS" -lt "$deadline" ]; then sleep 0.1
    else end "$pid"
    fi
  done
  return "$(cat "$folder/code" 2>/dev/null || echo 2)"
}

work() { # the job's id, its token, its payload
  local worker beat verb end=
  rm -f "$folder"/*
  { execute "$3" >"$folder/result" 2>"$folder/error"; echo $? >"$folder/status"; } &
  worker=$!
  heartbeat "$1" "$2" &
  beat=$!
  echo "$worker $beat" >"$folder/.groups"
  # Until the work has ended, or there is no use in it any more; a signal ends the wait as well.
  while [ -z "$stopping" ] && kill -0 "$worker" 2>/dev/null && kill -0 "$beat" 2>/dev/null; do
    wait -n "$worker" "$beat"
  done
  end "$worker"
  end "$beat"
  case $(cat "$folder/status" 2>/dev/null) in
    0) verb=complete end=", \"result\": $(<"$folder/result")" ;;
    '') verb=release ;;
    *) verb=fail end=", \"error\": $(jq -Rs . "$folder/error")" ;;
  esac
  ask "/jobs/$1/$verb" "{\"fencing_token\": $2$end}"
}

pause=0.1
while [ -z "$stopping" ]; do
  # The same request_id in every try: a claim whose answer was lost is answered again.
  ask /jobs/claim "{\"worker_id\": $worker_id, \"types\": [\"resize-video\"], \"lease_seconds\": $lease,
    \"request_id\": \"$(</proc/sys/kernel/random/uuid)\"}" || { [ -n "$stopping" ] && break; exit 1; }
  job=$(<"$folder/answer")
  if [ -n "$job" ]; then
    [[ $job =~ ^\{\"id\":\ *([0-9]+) ]] # by its text: a number of jq holds 53 bits
    id=${BASH_REMATCH[1]}
    { read -r token && read -r payload; } < <(jq -r '.fencing_token, (.payload | tojson)' <<<"$job")
    work "$id" "$token" "$payload"
    pause=0.1
  else
    sleep "$pause" &
    wait $! 2>/dev/null
    pause=$(longer "$pause")
  fi
done
