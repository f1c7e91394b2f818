//! The requests of administrators and users to `vipu_slurmctld.so`, and its answers.
//!
//! svipu connects to the admin socket, writes one request as a line of JSON, and reads one line with the
//! answer. Then the connection is over. Users cannot reach the socket: their requests are jobs that slurmctld
//! refuses with the answer. The crate has only the lines, and it depends on no other crate of the project.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::{Deserialize, Serialize};

/// The name of the socket in its directory.
pub const SOCKET: &str = "vipu_admin.socket";

/// The path of the socket without AdminSocket: beside SlurmctldPidFile, which has a value in Slurm if slurm.conf names
/// none.
pub fn socket_beside(pid_file: Option<&str>) -> PathBuf {
    Path::new(pid_file.unwrap_or("/var/run/slurmctld.pid")).with_file_name(SOCKET)
}

/// The longest line in bytes, without its end.
pub const LONGEST_LINE: usize = 64 << 10;

/// The beginning of each answer to a user.
pub const ANSWER: &str = "vipu: ";

/// What follows [`ANSWER`] if the request is carried out.
pub const DONE: &str = "done: ";

/// The request of an administrator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Let nothing new start on some IPUs.
    Drain {
        /// The IPUs: `MODEL`, `PARTITION` of a pool, `HOST:PORT` of a controller, or `HOST:PORT/DOMAIN:INDEX` for one IPU.
        ipus: String,
        /// The reason for users and other administrators.
        reason: String,
        /// The Unix time in seconds at which the drain ends by itself.
        #[serde(default)]
        until: Option<i64>,
    },
    /// End a drain.
    Resume {
        /// The IPUs, as they were drained.
        ipus: String,
        /// The reason, for the log.
        #[serde(default)]
        reason: Option<String>,
    },
    /// Remove a partition that no running job has.
    Free {
        /// The partition's id on its controller.
        partition: String,
        /// The reason, for the log.
        reason: String,
        /// Remove it even if its name is not like those of this cluster.
        #[serde(default)]
        force: bool,
    },
    /// Compare the controllers' partitions with the jobs now.
    Reconcile {},
}

/// The request of a user: to remove a partition that is kept for a failed job of this user.
///
/// The GRES list of a job carries it to slurmctld, which knows the submitter and refuses the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserRequest {
    /// The partition's id on its controller.
    pub partition: String,
    /// The reason, for the log.
    pub reason: Option<String>,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It is done, or begun as the text says.
    Done(String),
    /// Nothing was changed, for this reason.
    Refused(String),
}

/// The reason why a line is no request or no answer.
#[derive(Debug, thiserror::Error)]
pub enum BadLine {
    /// It has more bytes than this.
    #[error("the line is longer than {0} bytes")]
    TooLong(usize),
    /// It is no JSON of this form.
    #[error("{0}")]
    Broken(#[from] serde_json::Error),
}

impl Request {
    /// Reads a line, with or without its end.
    ///
    /// # Errors
    /// See [`BadLine`].
    pub fn parse(line: &[u8]) -> Result<Self, BadLine> {
        parse(line)
    }

    /// The action.
    pub fn action(&self) -> &'static str {
        match self {
            Self::Drain { .. } => "drain",
            Self::Resume { .. } => "resume",
            Self::Free { .. } => "free",
            Self::Reconcile {} => "reconcile",
        }
    }

    /// The IPUs or the partition that the administrator named.
    pub fn target(&self) -> Option<&str> {
        match self {
            Self::Drain { ipus: target, .. }
            | Self::Resume { ipus: target, .. }
            | Self::Free { partition: target, .. } => Some(target),
            Self::Reconcile {} => None,
        }
    }

    /// The reason of the administrator.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Drain { reason, .. } | Self::Free { reason, .. } => Some(reason),
            Self::Resume { reason, .. } => reason.as_deref(),
            Self::Reconcile {} => None,
        }
    }

    /// The request as a line with its end.
    ///
    /// # Errors
    /// None is known, because each member has a form in JSON.
    pub fn to_line(&self) -> serde_json::Result<Vec<u8>> {
        to_line(self)
    }
}

impl UserRequest {
    /// The beginning of the GRES. Only slurm-vipu asks for the name before the colon, and sbatch knows it. The type is
    /// that of no node: it has a point.
    const GRES: &str = "vipu:free.";

    /// The request in a GRES list.
    pub fn find(list: &str) -> Option<Self> {
        let of = |element: &str| {
            let (before, text) = element.trim().split_once(Self::GRES)?;
            ["", "gres:", "gres/"].contains(&before).then(|| text.to_owned())
        };
        let text = list.split(',').find_map(of)?;
        let plain = |part: &str| percent_decode_str(part).decode_utf8_lossy().into_owned();
        Some(match text.split_once('.') {
            Some((partition, reason)) => Self { partition: plain(partition), reason: Some(plain(reason)) },
            None => Self { partition: plain(&text), reason: None },
        })
    }

    /// The request as an element of a GRES list.
    pub fn to_gres(&self) -> String {
        const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'_').remove(b'-');
        let escaped = |text: &str| utf8_percent_encode(text, ESCAPED).to_string();
        let reason = self.reason.as_deref().map(|reason| format!(".{}", escaped(reason)));
        format!("{}{}{}", Self::GRES, escaped(&self.partition), reason.unwrap_or_default())
    }
}

impl Answer {
    /// Reads a line, with or without its end.
    ///
    /// # Errors
    /// See [`BadLine`].
    pub fn parse(line: &[u8]) -> Result<Self, BadLine> {
        parse(line)
    }

    /// The answer as a line with its end.
    ///
    /// # Errors
    /// None is known, because each member has a form in JSON.
    pub fn to_line(&self) -> serde_json::Result<Vec<u8>> {
        to_line(self)
    }
}

fn parse<T: for<'a> Deserialize<'a>>(line: &[u8]) -> Result<T, BadLine> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    if line.len() > LONGEST_LINE {
        return Err(BadLine::TooLong(LONGEST_LINE));
    }
    Ok(serde_json::from_slice(line)?)
}

fn to_line(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;

    #[test]
    fn cli_admin_requests_have_this_form() {
        let (ipus, reason) = ("pod64".to_owned(), "new switch".to_owned());
        for (line, request) in [
            (
                r#"{"drain":{"ipus":"pod64","reason":"new switch","until":1800000000}}"#,
                Request::Drain { ipus: ipus.clone(), reason: reason.clone(), until: Some(1_800_000_000) },
            ),
            (r#"{"resume":{"ipus":"pod64"}}"#, Request::Resume { ipus, reason: None }),
            (
                r#"{"free":{"partition":"slurm_7","reason":"new switch"}}"#,
                Request::Free { partition: "slurm_7".into(), reason, force: false },
            ),
            (r#"{"reconcile":{}}"#, Request::Reconcile {}),
        ] {
            assert_eq!(Request::parse(line.as_bytes()).unwrap(), request);
            assert_eq!(Request::parse(&request.to_line().unwrap()).unwrap(), request, "{line}");
        }
    }

    /// A server that ignored a member would do something else than the administrator wants.
    #[test]
    fn cli_admin_lines_of_another_form_are_refused() {
        for line in [
            "",
            "{",
            "null",
            r#"{"stop":{}}"#,
            r#"{"reconcile":{"pod":1}}"#,
            r#"{"drain":{"ipus":"pod64"}}"#,
            r#"{"resume":{"ipus":"pod64","force":true}}"#,
            r#"{"reconcile":{}} {"reconcile":{}}"#,
        ] {
            assert!(matches!(Request::parse(line.as_bytes()), Err(BadLine::Broken(_))), "{line}");
        }
        let long = [b' '].repeat(LONGEST_LINE + 1);
        assert!(matches!(Request::parse(&long), Err(BadLine::TooLong(LONGEST_LINE))));
    }

    #[test]
    fn cli_admin_requests_of_users_have_this_form() {
        let free = |partition: &str, reason: Option<&str>| UserRequest {
            partition: partition.into(),
            reason: reason.map(Into::into),
        };
        for (gres, request) in [
            ("vipu:free.slurm_7", free("slurm_7", None)),
            ("vipu:free.slurm-7.0", free("slurm-7", Some("0"))),
            ("vipu:free.a%2C%3A%2F%3D%2E%25.%1B%0A%C3%A4%200%2E", free("a,:/=.%", Some("\u{1b}\n\u{e4} 0."))),
            ("vipu:free..", free("", Some(""))),
        ] {
            assert_eq!(request.to_gres(), gres);
            for list in
                [gres.to_owned(), format!("gres:gpu:2,gres:{gres}"), format!("gres/{gres},gres/vipu:4")]
            {
                assert_eq!(UserRequest::find(&list), Some(request.clone()), "{list}");
            }
        }
        for list in ["", "gres:vipu:pod64:16", "gres/vipu:free:slurm_7", "gres:gpu:vipu:free.slurm_7"] {
            assert_eq!(UserRequest::find(list), None, "{list}");
        }
    }
}
