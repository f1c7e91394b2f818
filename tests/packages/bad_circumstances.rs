//! An installation that fails tells why in one line, and leaves the installed objects as they were. The next one mends all.

use anyhow::Result;

use crate::host::Host;

/// Installs the earlier packages. `check` then compares with what they installed.
const EARLIER: &str = "dpkg --install $(debs /earlier) && objects > /tmp/objects";

/// Fails if an installed object has changed, or if more files are there.
const CHECK: &str = "objects | diff /tmp/objects -";

/// Installs the packages anew and checks that all is well.
const MEND: &str = r#"
    dpkg --install $(debs /packages)
    test -z "$(dpkg --audit)"
    objects | diff /tmp/objects -
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
        "#,
    )?;
    host.refuses(UPGRADE, &["/usr/lib/slurm-vipu/", "No space left on device"])?;
    host.run(CHECK)?;
    host.run("mount -o remount,size=100m $plugins")?;
    host.run(MEND)?;
    Ok(())
}

#[test]
fn pkg_a_deb_of_another_architecture_is_refused() -> Result<()> {
    let host = Host::start()?;
    host.run(EARLIER)?;
    host.run(
        r#"
        dpkg-deb --raw-extract /packages/slurm-vipu-login_*.deb /tmp/other
        sed -i 's/^Architecture: .*/Architecture: arm64/' /tmp/other/DEBIAN/control
        dpkg-deb --build /tmp/other /tmp/other.deb
        "#,
    )?;
    host.refuses(
        "dpkg --install /tmp/other.deb",
        &["package architecture (arm64) does not match system (amd64)"],
    )?;
    host.run(CHECK)?;
    host.run("test -z \"$(dpkg --audit)\"")?;
    Ok(())
}

#[test]
fn pkg_debs_of_two_versions_are_refused() -> Result<()> {
    let host = Host::start()?;
    host.run("dpkg --install $(debs /earlier)")?;
    let needs = "slurm-vipu-node : Depends: slurm-vipu-login (= ";
    host.refuses("apt-get install --yes /packages/slurm-vipu-node_*.deb", &[needs])?;
    host.run("dpkg-query --show slurm-vipu-node | grep '0\\.0\\.9$'")?;
    let needs = "slurm-vipu-node depends on slurm-vipu-login (= ";
    host.refuses("dpkg --install /packages/slurm-vipu-node_*.deb", &[needs, "Version of slurm-vipu-login"])?;
    host.run("objects > /tmp/objects")?;
    host.run(MEND)?;
    Ok(())
}
