//! Packages for Red Hat's family, with Debian's rpm.

use anyhow::Result;

use crate::host::Host;

/// Has rpm take its database for a system's own. A package without files stands for glibc and the shell, as rpm knows
/// nothing of Debian's. Everything else that the packages need has to be in them.
const SYSTEM: &str = r#"
    rpm --query --package --requires $(rpms /packages) | sort --unique > /tmp/needed
    grep -E '^(/bin/sh$|rtld\(GNU_HASH\)$|(ld-linux-x86-64|libc|libm|libdl|libpthread|librt|libgcc_s)\.so\.)' /tmp/needed > /tmp/of-system
    {
        printf 'Name: system\nVersion: 1\nRelease: 1\nSummary: x\nLicense: MIT\n'
        sed 's/^/Provides: /' /tmp/of-system
        printf '%%description\nx\n%%files\n'
    } > /tmp/system.spec
    rpmbuild -bb --quiet --define '_rpmdir /tmp' --define '_rpmfilename system.rpm' /tmp/system.spec
    rpm $force --install /tmp/system.rpm
"#;

#[test]
fn pkg_rpms_are_installed_verified_and_erased() -> Result<()> {
    let host = Host::start()?;
    host.run(SYSTEM)?;
    host.run(
        r#"
        systemd
        rpm $force --install $(rpms /packages) > /tmp/said
        for name in $names; do grep -q "^$name: " /tmp/said || fail "$name tells no next step"; done
        rpm --verify $names
        for file in select_vipu spank_ipuof gres_vipu job_submit_vipu vipu_slurmctld; do
            test -s /usr/lib64/slurm/$file.so || fail "Slurm does not find $file.so"
        done
        svipu --version
        rpm $force --upgrade --replacepkgs $(rpms /packages) > /tmp/again
        told=$(grep '^slurm-vipu-[a-z]*: ' /tmp/again)
        test "$told" = 'slurm-vipu-controller: Restart slurmctld: it still runs the earlier plugins.' || fail "$told"
        asked daemon-reload
        rpm --verify $names
        "#,
    )?;
    host.run(
        "rm /run/asked; rpm $force --erase $names; nothing_left; asked 'disable --now vipu-exporter.service'",
    )?;
    Ok(())
}

#[test]
fn pkg_rpms_of_another_version_replace_files_and_touch_no_configuration() -> Result<()> {
    let host = Host::start()?;
    host.run(SYSTEM)?;
    host.run(
        r#"
        etc() { (cd /etc && find . -type f -exec sha256sum {} + | sort); }
        etc > /tmp/etc
        rpm $force --install $(rpms /earlier)
        objects > /tmp/objects
        for other in packages earlier; do
            inodes > /tmp/inodes
            rpm $force --upgrade --oldpackage $(rpms /$other)
            all_replaced
            objects | diff /tmp/objects - || fail 'one of the objects is damaged'
            rpm --verify $names
        done
        etc | diff /tmp/etc - || fail '/etc has changed'
        "#,
    )?;
    Ok(())
}

/// As docs/real-cluster.md, docs/leaving.md and docs/releases.md advise.
#[test]
fn pkg_rpms_are_installed_downgraded_and_removed_by_dnf() -> Result<()> {
    let host = Host::start()?;
    host.run(SYSTEM)?;
    host.run(
        r#"
        dnf() { command dnf --assumeyes --disablerepo='*' "$@"; }
        dnf install $(rpms /packages)
        rm $plugins/select_vipu.so
        dnf reinstall $(rpms /packages)
        rpm --verify $names
        dnf downgrade $(rpms /earlier)
        rpm --query slurm-vipu-login | grep 0.0.9
        dnf upgrade $(rpms /packages)
        ! rpm --query slurm-vipu-login | grep 0.0.9 || fail 'not upgraded'
        dnf remove 'slurm-vipu-*'
        nothing_left
        "#,
    )?;
    Ok(())
}

#[test]
fn pkg_rpms_of_two_versions_are_refused() -> Result<()> {
    let host = Host::start()?;
    host.run(SYSTEM)?;
    host.run("rpm $force --install $(rpms /earlier) && objects > /tmp/objects")?;
    host.refuses(
        "rpm $force --upgrade /packages/slurm-vipu-login-[0-9]*.rpm",
        &["slurm-vipu-login = 0.0.9 is needed by (installed) slurm-vipu-node"],
    )?;
    host.run("objects | diff /tmp/objects - && rpm --verify $names")?;
    Ok(())
}
