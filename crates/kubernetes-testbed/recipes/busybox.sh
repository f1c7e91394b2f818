# Makes out/image.tar with busybox. $1 is the image's name, $2 the folder of the programs.
mkdir --parents root/bin root/etc root/tmp
cp "$2/busybox" root/bin/
for name in $(root/bin/busybox --list); do [ -e "root/bin/$name" ] || ln --symbolic busybox "root/bin/$name"; done
tar --create --file root.tar --directory root --owner=0 --group=0 .
. ./pack.sh
