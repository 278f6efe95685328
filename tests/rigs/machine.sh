#!/usr/bin/env bash
# The first process of a machine, in mount and process namespaces of its own: mount its file systems, start its engine.
# Arguments: the root file system, the session's folder, the engine, the name of its control group, paths of the host.
set -euo pipefail
exec 2>&1
root=$1 session=$2 engine=$3 group=$4
shift 4

mount --make-rprivate /
mount -t overlay overlay -o "lowerdir=$root,upperdir=$session/upper,workdir=$session/work" "$session/machine"
cd "$session/machine"
# Storage of engines cannot be on an overlay.
for folder in home run tmp var/lib/containerd var/lib/containers var/lib/docker; do
    mkdir -p "$session/data/$folder" "$folder"
    mount --bind "$session/data/$folder" "$folder"
done
chmod 1777 tmp
mount -t proc proc proc
mount --rbind /sys sys
mount --rbind /dev dev
cat /etc/resolv.conf >etc/resolv.conf
for path; do
    if [ -d "$path" ]; then mkdir -p ".$path"; else mkdir -p ".${path%/*}" && touch ".$path"; fi
    mount --bind -o ro "$path" ".$path"
done
pivot_root . mnt
cd /
umount --lazy /mnt
mount --make-rshared / # as systemd leaves it
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
install --directory --owner=joerg --group=joerg '/home/jörg müller'

case $engine in
docker)
    # In a network namespace of its own: an engine without a bridge deletes the one that is there, `docker0`.
    unshare --net dockerd --bridge none --iptables=false --ip6tables=false --cgroup-parent "/$group" >/run/engine.log 2>&1 &
    ;;
podman)
    # crun refuses controllers of version 1 beside a hierarchy of version 2.
    umount /sys/fs/cgroup/unified 2>/dev/null || true
    podman --cgroup-manager cgroupfs system service --time 0 unix:///run/docker.sock >/run/engine.log 2>&1 &
    ;;
esac
service=$!
for _ in $(seq 600); do
    kill -0 "$service" 2>/dev/null || break
    if [ -S /run/docker.sock ] && grep --quiet OK <(python3 -c '
import http.client, socket
connection = http.client.HTTPConnection("localhost")
connection.sock = socket.socket(socket.AF_UNIX)
connection.sock.connect("/run/docker.sock")
connection.request("GET", "/_ping")
print(connection.getresponse().read().decode())' 2>/dev/null); then
        echo ready
        wait
    fi
    sleep 0.1
done
cat /run/engine.log
exit 1
