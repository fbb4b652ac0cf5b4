#!/bin/sh
# Stands for a worker: worker.sh FOLDER WORDS... --server S --name N. Leaves its words in FOLDER/N.alive, says
# farewell in FOLDER/N.drained, dies when there is a FOLDER/N.die, and ends with the folder.
folder=$1
for word; do name=$word; done
trap 'echo farewell >"$folder/$name.drained"; exit 0' TERM
for word; do printf '%s\n' "$word"; done >"$folder/$name.words"
echo $$ >"$folder/$name.pid"
mv "$folder/$name.words" "$folder/$name.alive"
while [ -d "$folder" ] && [ ! -e "$folder/$name.die" ]; do
  sleep 0.05 &
  wait $!
done
exit 9
