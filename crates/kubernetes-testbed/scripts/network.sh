# Furnishes the network namespace of process $1: a bridge with the addresses $4 and following, and a cable to this
# machine, whose end here is $2 with the address $3.
namespace=$1 cable=$2 machine=$3
shift 3
inside() { nsenter --net="/proc/$namespace/ns/net" ip "$@"; }
ip link add "$cable" type veth peer name machine netns "$namespace"
ip address add "$machine" dev "$cable"
ip link set "$cable" up
inside link set lo up
# Without an address of its own, a bridge changes its address with each Pod.
inside link add pods address 02:00:00:00:00:01 type bridge
for address; do inside address add "$address" dev pods; done
inside link set pods up
inside link set machine master pods up
