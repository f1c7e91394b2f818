//! Types that all crates share: IPU counts, partition ids, models, controllers, job runs, requests and
//! options.
//!
//! The crate depends neither on Slurm's records nor on the controller's messages.
#![forbid(unsafe_code)]

mod after_failure;
mod controller;
mod count;
mod delivery;
mod gcd;
mod grant;
mod gres_type;
mod names;
mod node_gres;
mod options;
mod place;
mod pool;
mod reason;
mod request;
mod requeue_pause;
mod run;
mod shape;
mod shown;
mod spank_arguments;
pub mod version_note;
mod weekly_times;
mod words;

pub use after_failure::{AfterFailure, BadExitCodes, ExitCodes, RequeueOn};
pub use controller::{Access, ControllerName, PodId, Tls, TlsIdentity};
pub use count::{IpuCount, NotASize};
pub use delivery::Delivery;
pub use gcd::{Device, Gcd};
pub use grant::{BadGrant, Grant};
pub use gres_type::GresType;
pub use names::{BadName, ModelName, PartitionId};
pub use node_gres::{
    Offered, OfferedModels, bad_element, consumable, consumable_element, gres_types, ipu_elements, offered,
    with_no_consume,
};
pub use options::{Asked, BadValue, Help, JobOption};
pub use place::{HostAgent, HostIpus, HostMap, Place, Placement};
pub use pool::{ModelPool, Pool, PoolPart};
pub use reason::Reason;
pub use request::GresRequest;
pub use requeue_pause::RequeuePause;
pub use run::{EndedBy, JobRun, PartitionEnd, RunEnd};
pub use shape::{Choice, GatewayRouting, Ipus, LinkRouting, Shape, Sync};
pub use shown::shown;
pub use spank_arguments::{BadSpankArguments, Preflight, SpankArguments};
pub use weekly_times::{WeeklyTime, WeeklyTimes};
pub use words::Words;
