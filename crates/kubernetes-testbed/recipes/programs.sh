# Makes the folder `out` with the programs of a cluster. $1 is the address of Debian's packages. Everything comes from
# Debian 12: Kubernetes from the source package, the rest as packages that are unpacked, not installed.

# apt with a configuration of its own: it knows bookworm only, and nothing of what is installed here.
mkdir --parents apt/lists/partial apt/archives/partial
: > apt/status
for kind in deb deb-src; do
    echo "$kind [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $1 bookworm main"
done > apt/sources.list
apt() {
    apt-get --quiet -o APT::Sandbox::User=root -o Dir::State="$PWD/apt" -o Dir::State::status="$PWD/apt/status" \
        -o Dir::Cache="$PWD/apt" -o Dir::Etc::SourceList="$PWD/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts=/dev/null "$@"
}
apt update
apt download busybox-static containerd containernetworking-plugins etcd-server golang-1.19-go golang-1.19-src \
    golang-github-modern-go-reflect2-dev kubernetes-client runc
for package in *.deb; do dpkg-deb --extract "$package" root; done
apt source --only-source kubernetes

# Go finds the package k8s.io/kubernetes by the path of its folder. In module mode Go 1.19 refuses the vendored sources.
sources=$PWD/go/src/k8s.io/kubernetes
mkdir --parents "${sources%/*}"
mv kubernetes-*/ "$sources"
export GOROOT="$PWD/root/usr/lib/go-1.19" GOPATH="$PWD/go" GOCACHE="$PWD/cache" GOTMPDIR="$PWD"
export GO111MODULE=off GOENV=off GOFLAGS= GOPROXY=off CGO_ENABLED=0 GOGC=off GOMEMLIMIT=3GiB
go() { nice -n 10 "$GOROOT/bin/go" "$@"; }
work=$PWD
cd "$sources"

# The vendored reflect2 1.0.1 breaks memory with Go 1.18 and later: the API server dies at the first custom resource.
rm vendor/github.com/modern-go/reflect2/*.go vendor/github.com/modern-go/reflect2/*.s
cp "$work"/root/usr/share/gocode/src/github.com/modern-go/reflect2/*.go \
    "$work"/root/usr/share/gocode/src/github.com/modern-go/reflect2/*.s vendor/github.com/modern-go/reflect2/
# The kubelet would ask 169.254.169.254 for credentials of a cloud when it starts.
sed --in-place '\,pkg/credentialprovider/\(aws\|azure\|gcp\)",d' cmd/kubelet/app/plugins.go

# The source package lacks one generated file. Its generator reads all packages with the tag +k8s:openapi-gen.
go build -trimpath -o "$work/openapi-gen" ./vendor/k8s.io/kube-openapi/cmd/openapi-gen
tagged=$(grep --recursive --files-with-matches --include='*.go' --exclude='zz_generated*' --exclude='*_test.go' \
    --exclude-dir=testdata --exclude-dir=code-generator --exclude-dir=sample-apiserver \
    '+k8s:openapi-gen=' pkg plugin cmd staging/src/k8s.io |
    xargs --max-args=1 dirname | sed 's,^staging/src,vendor,; s,^,k8s.io/kubernetes/,' |
    sort --unique | paste --serial --delimiters=,)
"$work/openapi-gen" --logtostderr --input-dirs "$tagged" --output-package k8s.io/kubernetes/pkg/generated/openapi \
    --output-file-base zz_generated.openapi --go-header-file vendor/k8s.io/code-generator/hack/boilerplate.go.txt \
    --report-filename "$work/openapi-violations"

# One program is linked once. Without the tags it would have the code of clouds and of Docker's engine.
mkdir cmd/kubernetes
cp "$work/main.go" cmd/kubernetes/
flags='-s -w'
for package in component-base/version client-go/pkg/version; do
    for value in gitVersion=v1.20.2 gitMajor=1 gitMinor=20; do
        flags="$flags -X k8s.io/kubernetes/vendor/k8s.io/$package.$value"
    done
done
mkdir "$work/out"
go build -trimpath -tags 'providerless dockerless' -ldflags "$flags" -o "$work/out/kubernetes" ./cmd/kubernetes

cd "$work/out"
for name in kube-apiserver kube-controller-manager kube-scheduler kubelet; do ln --symbolic kubernetes $name; done
mv ../root/bin/busybox ../root/usr/bin/containerd ../root/usr/bin/containerd-shim-runc-v2 ../root/usr/bin/ctr \
    ../root/usr/bin/etcd ../root/usr/bin/kubectl ../root/usr/sbin/runc .
mkdir cni
for name in bridge host-local loopback; do mv ../root/usr/lib/cni/$name cni/; done
./kube-apiserver --version
