//! An installation that fails tells why in one line, and leaves the installed objects as they were. The next one mends all.

use anyhow::Result;

use crate::host::Host;

/// Installs the earlier packages. `check` then compares with what they installed.
const EARLIER: &str = "dpkg --install $(debs /earlier) && objects > /tmp/objects && inodes > /tmp/inodes";

/// Fails if an installed object has changed, or if more files are there. Both versions have the same objects: inodes tell
/// them apart.
const CHECK: &str = r#"
    objects | diff /tmp/objects -
    inodes | diff /tmp/inodes -
    dpkg-query --show slurm-vipu-login | grep '0\.0\.9$'
"#;

/// Installs the packages anew and checks that all is well.
const MEND: &str = r#"
    inodes > /tmp/inodes
    dpkg --install $(debs /packages)
    test -z "$(dpkg --audit)"
    objects | diff /tmp/objects -
    all_replaced
"#;

const UPGRADE: &str = "dpkg --install $(debs /packages)";

#[test]
fn pkg_a_read_only_plugin_directory_keeps_the_earlier_version() -> Result<()> {
    let host = Host::start()?;
    host.run(EARLIER)?;
    host.run("mount --bind $plugins $plugins && mount -o remount,ro,bind $plugins")?;
    host.refuses(UPGRADE, &["select_vipu.so.dpkg-new'", "Read-only file system"])?;
    host.run(CHECK)?;
    host.run("umount $plugins")?;
    host.run(MEND)?;
    Ok(())
}

#[test]
fn pkg_a_full_disk_keeps_the_earlier_version() -> Result<()> {
    let host = Host::start()?;
    host.run(EARLIER)?;
    // One of the two files of slurm-vipu-login fits.
    host.run(
        r#"
        mkdir /small
        one=$(stat --format %s $plugins/select_vipu.so)
        mount -t tmpfs -o size=$(($(du --bytes --summarize $plugins | cut -f1) + one + 65536)) tmpfs /small
        cp --archive $plugins/. /small
        mount --move /small $plugins
        inodes > /tmp/inodes
        "#,
    )?;
    host.refuses(UPGRADE, &["/usr/lib/slurm-vipu/", "No space left on device"])?;
    host.run(CHECK)?;
    host.run("mount -o remount,size=100m $plugins")?;
    host.run(MEND)?;
    Ok(())
}

#[test]
fn pkg_debs_of_two_versions_are_refused() -> Result<()> {
    let host = Host::start()?;
    host.run(EARLIER)?;
    let needs = "slurm-vipu-node : Depends: slurm-vipu-login (= ";
    host.refuses("apt-get install --yes /packages/slurm-vipu-node_*.deb", &[needs])?;
    host.run("dpkg-query --show slurm-vipu-node | grep '0\\.0\\.9$'")?;
    let needs = "slurm-vipu-node depends on slurm-vipu-login (= ";
    host.refuses("dpkg --install /packages/slurm-vipu-node_*.deb", &[needs, "Version of slurm-vipu-login"])?;
    host.run(MEND)?;
    Ok(())
}
