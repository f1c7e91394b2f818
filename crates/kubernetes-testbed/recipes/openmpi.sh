# Makes out/image.tar with Debian 12 and OpenMPI. $1 is the image's name, $2 the address of Debian's packages.
mmdebstrap --variant=essential --include=openmpi-bin --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/man/*' bookworm root.tar "$2"
. ./pack.sh
