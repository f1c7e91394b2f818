//! `svipu exporter`: serves the numbers of the document over HTTP.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use vipu_exporter::Document;
use vipu_types::Words;

use crate::error::Failure;
use crate::find_document;
use crate::read_document::Source;

/// Serves until the process ends. Returns only the reason why it cannot.
pub(crate) fn serve(listen: SocketAddr, place: PathBuf) -> Failure {
    let shown = match find_document::at(place.clone()) {
        Ok(source) => source.to_string(),
        // slurmctld has not written it yet.
        Err(Failure::NoneIn(directory)) => directory.display().to_string(),
        Err(why) => return why,
    };
    let shown = crate::safe::cut(&shown, crate::safe::LINE);
    let ready = |address| eprintln!("svipu: serves {shown} at http://{address}/metrics");
    let found = OnceLock::new();
    match vipu_exporter::run(listen, move || read(&place, &found), ready) {
        Ok(never) => match never {},
        Err(why) => Failure::Listen(listen, why),
    }
}

/// Looks for the document at each request, until it was read once. From then on, the document of another cluster in the
/// same directory changes nothing.
fn read(place: &Path, found: &OnceLock<Source>) -> Document {
    if let Some(source) = found.get() {
        return source.read();
    }
    let source = find_document::at(place.to_owned()).map_err(Words::of)?;
    let status = source.read()?;
    found.get_or_init(|| source);
    Ok(status)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use vipu_status::Status;

    use super::*;

    fn write(directory: &Path, cluster: &str) {
        let mut status = Status { schema: vipu_status::SCHEMA, ..Status::default() };
        status.writer.cluster = cluster.into();
        fs::write(directory.join(vipu_status::file_names::public(cluster)), status.to_json().unwrap())
            .unwrap();
    }

    #[test]
    fn cli_svipu_exporter_takes_up_a_document_that_appears() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("mounted later");
        let found = OnceLock::new();
        let cluster = || read(&directory, &found).map(|status| status.writer.cluster);
        assert!(cluster().unwrap_err().contains("cannot read it: No such file"));
        fs::create_dir(&directory).unwrap();
        assert!(cluster().unwrap_err().contains("has no status document"));
        write(&directory, "one");
        assert_eq!(cluster().unwrap(), "one");
        write(&directory, "two");
        assert_eq!(cluster().unwrap(), "one", "the document of another cluster changes nothing");
        fs::remove_file(directory.join(vipu_status::file_names::public("one"))).unwrap();
        assert!(cluster().is_err(), "the numbers of another cluster are not those of this one");
    }
}
