# Makes out/image.tar of root.tar. $1 is the image's name.
digest=$(sha256sum root.tar)
cat > config.json <<END
{
    "architecture": "amd64",
    "os": "linux",
    "config": {
        "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
        "Cmd": ["sleep", "infinity"]
    },
    "rootfs": {"type": "layers", "diff_ids": ["sha256:${digest%% *}"]}
}
END
echo "[{\"Config\": \"config.json\", \"RepoTags\": [\"$1\"], \"Layers\": [\"root.tar\"]}]" > manifest.json
mkdir out
tar --create --file out/image.tar manifest.json config.json root.tar
