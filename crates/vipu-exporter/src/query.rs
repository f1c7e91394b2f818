//! `POST /query`: whether partitions of a size fit now, as the operator for Kubernetes answers it.

use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use vipu_status::{Model, Status};
use vipu_types::{IpuCount, Words, words};

use crate::answer::{self, Document};
use crate::numbers::label;

/// The IPUs of the largest Pod that is looked at. Greater numbers are no Pod's.
const MOST_IPUS: u32 = 1 << 20;

/// The question.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    size: IpuCount,
    model: Option<String>,
}

/// The answer. The names are those of the operator.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    available: bool,
    num_of_partitions: u32,
    message: String,
}

/// Reads the body of a request.
pub(crate) fn read(body: &[u8]) -> Result<Question, Words> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Body {
        size: u64,
        model: Option<String>,
    }
    let form = r#"write {"size":2}, or {"size":2,"model":"pod64"}"#;
    let Body { size, model } = serde_json::from_slice(body).map_err(|why| words!("{why}: {form}"))?;
    let size = IpuCount::new(size).map_err(|why| words!("size: {why}"))?;
    Ok(Question { size, model })
}

pub(crate) fn answer(question: &Question, document: Document, now: i64) -> Response {
    let status = match document {
        Ok(status) => status,
        Err(why) => return answer::error(StatusCode::SERVICE_UNAVAILABLE, &why),
    };
    if let Some(why) = answer::trouble(&status, now) {
        return answer::error(StatusCode::SERVICE_UNAVAILABLE, &why);
    }
    let asked = |model: &&Model| question.model.as_ref().is_none_or(|name| *name == model.name);
    let models: Vec<_> = status.models.iter().filter(asked).collect();
    if let Some(name) = question.model.as_ref().filter(|_| models.is_empty()) {
        let known: Vec<_> = status.models.iter().take(20).map(|model| label(&model.name)).collect();
        let why = format!("model {} is unknown: known are {}", label(name), known.join(", "));
        return answer::error(StatusCode::BAD_REQUEST, &why);
    }
    let count = models.iter().map(|model| room(&status, model, question.size)).sum();
    answer::json(
        StatusCode::OK,
        &Answer {
            available: count > 0,
            num_of_partitions: count,
            message: message(&status, &models, question.size, count),
        },
    )
}

/// The number of partitions of this size that fit now.
fn room(status: &Status, model: &Model, size: IpuCount) -> u32 {
    let fits = size.get() <= model.largest_now.min(model.limits.job);
    let is_real = model.pods.iter().all(|pod| pod.ipus.total <= MOST_IPUS);
    let usable = status.out_of_order.is_none() && model.trouble.is_none();
    if fits && is_real && usable { vipu_forecast::room_for(status, model, size) } else { 0 }
}

fn message(status: &Status, models: &[&Model], size: IpuCount, count: u32) -> String {
    if count > 0 {
        return String::new();
    }
    if let Some(why) = &status.out_of_order {
        return format!("no job with IPUs starts until slurmctld is restarted: {why}");
    }
    if let Some(why) = models.iter().find_map(|model| model.trouble.as_ref()) {
        return format!("no job can start now: {why}");
    }
    let most = models.iter().map(|model| model.limits.job).max();
    if let Some(most) = most.filter(|most| size.get() > *most) {
        return format!("a job gets at most {most} IPUs");
    }
    match models.iter().map(|model| model.largest_now).max() {
        Some(0) => "nothing fits now".to_owned(),
        Some(largest) => {
            let largest = if largest == 1 { "1 IPU".to_owned() } else { format!("{largest} IPUs") };
            format!("no partition of {size} IPUs fits now; the largest that fits has {largest}")
        }
        None => "there is no Pod model".to_owned(),
    }
}
