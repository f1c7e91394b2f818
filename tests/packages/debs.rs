//! Packages for Debian's family.

use anyhow::Result;

use crate::host::Host;

#[test]
fn pkg_debs_are_installed_and_removed() -> Result<()> {
    let host = Host::start()?;
    host.run("cd /packages && sha256sum --quiet --check SHA256SUMS")?;
    host.run(
        r#"
        systemd
        # dpkg refuses them on another architecture.
        for deb in $(debs /packages); do test "$(dpkg-deb --field $deb Architecture)" = amd64; done
        dpkg --install $(debs /packages) > /tmp/said
        for name in $names; do grep -q "^$name: " /tmp/said || fail "$name tells no next step"; done
        dpkg --install $(debs /packages) > /tmp/again
        told=$(grep '^slurm-vipu-[a-z]*: ' /tmp/again)
        test "$told" = 'slurm-vipu-controller: Restart slurmctld: it still runs the earlier plugins.' || fail "$told"
        asked daemon-reload
        "#,
    )?;
    host.run(
        r#"
        cd /usr/lib/x86_64-linux-gnu/slurm-wlm
        for file in select_vipu spank_ipuof gres_vipu job_submit_vipu vipu_slurmctld; do
            test -s $file.so || fail "Slurm does not find $file.so"
            if ldd $file.so | grep 'not found'; then fail "$file.so lacks a library"; fi
        done
        for name in $names; do
            doc=/usr/share/doc/$name
            zcat $doc/THIRD-PARTY-LICENSES.gz | grep -q '^tonic .*: MIT$' || fail "$name has no licences"
            grep -q CycloneDX $doc/*.cdx.json || fail "$name has no bill of materials"
        done
        "#,
    )?;
    host.run(
        "rm /run/asked; dpkg --purge $names; nothing_left; asked 'disable --now vipu-exporter.service'",
    )?;
    Ok(())
}

#[test]
fn pkg_objects_and_programs_tell_their_version() -> Result<()> {
    let host = Host::start()?;
    host.run(
        r#"
        dpkg --install $(debs /packages)
        version=$(dpkg-query --show --showformat '${Version}' slurm-vipu-login)
        for file in $plugins/*; do
            readelf --notes --wide $file | grep -q '^  slurm-vipu ' || fail "$file has no note of slurm-vipu"
            strings $file | grep -qx "slurm-vipu $version\( build [0-9]*\)\?" || fail "$file tells no version"
        done
        builds=$(cd $plugins && strings select_vipu.so job_submit_vipu.so vipu_slurmctld.so gres_vipu.so |
            grep -x 'slurm-vipu [0-9.]* build [0-9]*' | sort | uniq --count)
        test "${builds%% slurm*}" -eq 4 || fail "not one build in four plugins: $builds"
        for program in svipu slurm-vipu-setup mock-vipu-server $plugins/ipuof-fetch; do
            test "$($program --version)" = "${program##*/} $version" || fail "$program tells no version"
        done
        for program in svipu slurm-vipu-setup mock-vipu-server; do
            zcat /usr/share/man/man1/$program.1.gz | grep -q '^\.SH OPTIONS' || fail "$program has no man page"
        done
        mkdir /other && touch /other/select_cons_tres.so
        slurm-vipu-setup --plugindir /other
        test -L /other/select_vipu.so || fail "there is no link in another folder of Slurm"
        slurm-vipu-setup --plugindir /other --remove
        ! test -e /other/select_vipu.so || fail "the link is still there"
        "#,
    )?;
    Ok(())
}

#[test]
fn pkg_debs_of_another_version_replace_files_and_touch_no_configuration() -> Result<()> {
    let host = Host::start()?;
    host.run(
        r#"
        etc() { (cd /etc && find . -type f -exec sha256sum {} + -o -type l -printf '%p %l\n' | sort); }
        etc > /tmp/etc
        dpkg --install $(debs /earlier)
        for other in packages earlier; do
            objects > /tmp/objects
            inodes > /tmp/inodes
            # A daemon has the file open as long as it runs.
            exec 3< $plugins/select_vipu.so
            dpkg --install $(debs /$other)
            all_replaced
            grep -q "$(sha256sum < /dev/fd/3 | cut -c1-64)  select_vipu.so" /tmp/objects || fail 'an open file has changed'
            objects | diff /tmp/objects - || fail 'one of the objects is damaged'
            installed=$(dpkg-query --show --showformat '${db:Status-Abbrev} ${Version}\n' $names | sort --unique)
            wanted=$(dpkg-deb --field /$other/slurm-vipu-login_*.deb Version)
            test "$installed" = "ii  $wanted" || fail "installed: $installed"
        done
        etc | diff /tmp/etc - || fail '/etc has changed'
        "#,
    )?;
    Ok(())
}

#[test]
fn pkg_lintian_finds_nothing_in_the_debs() -> Result<()> {
    Host::start()?.run(
        "found=$(lintian --allow-root --fail-on none $(debs /packages)); test -z \"$found\" || fail \"$found\"",
    )?;
    Ok(())
}

/// systemd gives a service from 0 (confined) to 10. The threshold is in tenths: 1.9.
#[test]
fn pkg_exporter_unit_is_valid_and_confined() -> Result<()> {
    Host::start()?.run(
        r#"
        dpkg --install /packages/slurm-vipu-tools_*.deb
        unit=/usr/lib/systemd/system/vipu-exporter.service
        systemd-analyze verify $unit
        systemd-analyze security --offline=true --threshold=19 $unit
        "#,
    )?;
    Ok(())
}
