//! The refusal of a request that cannot be met: one line with the fault, valid requests and the models.

use std::fmt::{self, Write as _};

use vipu_types::{BadValue, GresRequest, GresType, IpuCount, ModelName, NotASize, Reason, Words};

use crate::models::{Models, size_below};

/// A refusal in one line for the user's terminal: the fault, the nearest valid requests, and the models.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}")]
pub(crate) struct Refusal {
    line: String,
    for_good: bool,
}

/// Most refusals have fewer bytes.
const USUAL_LINE: usize = 192;

/// The fault of a request.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// The request is not in the grammar, or contradicts the options.
    #[error(transparent)]
    Request(#[from] Words),
    #[error(transparent)]
    NotASize(#[from] NotASize),
    #[error(transparent)]
    BadValue(#[from] BadValue),
    /// The shape is that of no partition of this size.
    #[error(transparent)]
    Misfit(Words),
    /// The text of [`crate::limits::Most`].
    #[error("{0}")]
    TooLarge(String),
    #[error("jobs on {0} get all {1} IPUs of a Pod")]
    NotWhole(ModelName, IpuCount),
    #[error("a job has one partition, not {0}")]
    NotOnePartition(u64),
    #[error("there is no model {0}")]
    NoSuchModel(ModelName),
    #[error("no node has {0} as the size of partitions")]
    NoSizes(u64),
    #[error("which model? {}", match .0 {
        Written::Gres => "write --gres=vipu:<model>:<IPUs>",
        Written::Options => "add --ipu-model=<model>",
    })]
    WhichModel(Written),
}

impl Refusal {
    /// The line for the user.
    pub(crate) fn into_line(self) -> Words {
        self.line.into()
    }

    /// The reason of a job that waits with this request, which could be met when it was submitted.
    pub(crate) fn into_reason(self) -> Reason {
        Reason::new("vipu: its request cannot be met any more", self.line)
    }

    /// Whether no system could meet the request, with any configuration.
    pub(crate) fn is_for_good(&self) -> bool {
        self.for_good
    }
}

/// The form of a request. The refusal suggests requests in this form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// `--gres=vipu:pod64:16`
    Gres,
    /// `--ipus=16`
    Options,
}

/// Requests that would be accepted.
pub(crate) struct Valid {
    pub(crate) written: Written,
    pub(crate) requests: Vec<GresRequest>,
    /// Whether an option has to name the model.
    pub(crate) needs_model: bool,
}

impl Valid {
    /// No better request is known.
    pub(crate) const NONE: Self = Self { written: Written::Gres, requests: Vec::new(), needs_model: false };
}

impl fmt::Display for Valid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, request) in self.requests.iter().enumerate() {
            f.write_str(if i == 0 { "; valid: " } else { " or " })?;
            if self.written == Written::Gres {
                write!(f, "--gres={request}")?;
                continue;
            }
            let model = request.of.as_ref().map(GresType::model).filter(|_| self.needs_model);
            let options = request.ipus().map(|ipus| format!("--ipus={ipus}")).into_iter();
            let options = options.chain(model.map(|model| format!("--ipu-model={model}")));
            f.write_str(&options.collect::<Vec<_>>().join(" "))?;
        }
        Ok(())
    }
}

/// The models with their sizes.
struct Offer<'a>(&'a Models);

impl fmt::Display for Offer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Models(models) = self.0;
        if models.is_empty() {
            return f.write_str("no node has a vipu GRES");
        }
        f.write_str("models: ")?;
        for (i, (name, model)) in models.iter().enumerate() {
            let separator = if i == 0 { "" } else { ", " };
            match (model.only_size(), model.sizes.clone().or_else(|| model.host_sizes())) {
                (Some(size), _) => write!(f, "{separator}{name} ({size} IPUs)")?,
                (None, Some(sizes)) => write!(f, "{separator}{name} ({})", in_words(sizes))?,
                (None, None) => {
                    write!(f, "{separator}{name} (1, 2, 4 ... {} IPUs)", size_below(model.largest))?;
                }
            }
        }
        Ok(())
    }
}

impl Models {
    /// The refusal for a fault.
    pub(crate) fn refusal(&self, fault: Fault, valid: Valid) -> Refusal {
        let for_good = matches!(
            fault,
            Fault::Request(_) | Fault::NotASize(_) | Fault::BadValue(_) | Fault::NotOnePartition(_)
        );
        let mut line = String::with_capacity(USUAL_LINE);
        // Writing to a String cannot fail.
        let _ = write!(line, "vipu: {fault}{valid}; {}", Offer(self));
        Refusal { line, for_good }
    }
}

/// Sizes in words, as in `4, 8 or 16 IPUs`.
pub(crate) fn in_words(sizes: impl IntoIterator<Item = IpuCount>) -> String {
    let all: Vec<_> = sizes.into_iter().map(|size| size.to_string()).collect();
    match all.split_last() {
        Some((last, [])) => format!("{last} IPU{}", if last == "1" { "" } else { "s" }),
        Some((last, others)) => format!("{} or {last} IPUs", others.join(", ")),
        None => String::new(),
    }
}
