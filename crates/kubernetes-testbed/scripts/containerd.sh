# Runs the containerd of a node in a mount namespace of its own. $1 is the node's folder.
mkdir --parents "$1/lib" "$1/log" "$1/settings"
mount --types tmpfs tmpfs /run
mount --bind "$1/lib" /var/lib
mount --bind "$1/log" /var/log
# A kubelet sets these for the whole machine. In this namespace it finds them set.
for setting in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
    kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
    name=${setting%=*}
    echo "${setting#*=}" > "$1/settings/${name##*/}"
    mount --bind "$1/settings/${name##*/}" "/proc/sys/$name"
done
exec containerd --config "$1/containerd.toml"
