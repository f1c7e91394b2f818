//! Reads a document from an exporter.

use std::error::Error;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode, Url};
use serde::Deserialize;

use crate::{MOST_BYTES, too_large};

/// The time for the connection.
const CONNECT: Duration = Duration::from_secs(3);

/// The time for all of the answer.
const ANSWER: Duration = Duration::from_secs(10);

/// The answer of an exporter that has no document.
#[derive(Deserialize)]
struct Refusal {
    error: String,
}

pub(crate) fn read(address: &str) -> Result<Vec<u8>, String> {
    let url = document(address)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|why| format!("cannot start a runtime: {why}"))?;
    let text = runtime.block_on(ask(url));
    // A name server that does not answer holds up a thread of the runtime. Nobody waits for it.
    runtime.shutdown_background();
    text
}

/// The URL of the document on an exporter.
fn document(address: &str) -> Result<Url, String> {
    let mut url = Url::parse(address).map_err(|why| format!("{why}: write http://HOST:PORT/"))?;
    if url.scheme() != "http" {
        return Err("svipu has no TLS: write http://HOST:PORT/, or forward a port by ssh -L".to_owned());
    }
    if url.path() == "/" {
        url.set_path("/status");
    }
    Ok(url)
}

async fn ask(url: Url) -> Result<Vec<u8>, String> {
    // The exporter is in the cluster, and a proxy is not.
    let client = Client::builder().no_proxy().redirect(Policy::none());
    let client = client.connect_timeout(CONNECT).timeout(ANSWER).build().map_err(words)?;
    let response = client.get(url).send().await.map_err(words)?;
    match response.status() {
        StatusCode::OK => body(response).await,
        StatusCode::SERVICE_UNAVAILABLE => {
            let refusal = serde_json::from_slice(&body(response).await?);
            Err(refusal.map_or_else(|_| "the server answers 503".to_owned(), |it: Refusal| it.error))
        }
        other => Err(format!("the server answers {other}: is it an exporter of slurm-vipu?")),
    }
}

async fn body(mut response: Response) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(words)? {
        if text.len() + piece.len() > MOST_BYTES {
            return Err(too_large());
        }
        text.extend_from_slice(&piece);
    }
    Ok(text)
}

/// The failure in words. Its last cause says most, as in "Connection refused".
fn words(why: reqwest::Error) -> String {
    if why.is_timeout() {
        return "it does not answer in time".to_owned();
    }
    let mut cause: &dyn Error = &why;
    while let Some(next) = cause.source() {
        cause = next;
    }
    format!("cannot read it: {cause}")
}
