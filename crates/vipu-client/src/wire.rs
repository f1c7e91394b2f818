//! The API as it is on the wire: messages generated from `proto/` (`tests/generated_code.rs`).
//!
//! [`crate::Client`] is the convenient way. This module is for writing a controller, as `mock-vipu` is,
//! and for calls without the limits and the errors of the client.

#![allow(
    missing_docs,
    reason = "generated: the fields are documented in the .proto files where their names do not say it all"
)]

#[rustfmt::skip]
mod virmgrpc;

pub use virmgrpc::*;

use prost::Message;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::Channel;
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

use crate::Call;

/// The largest reply that is read. The attributes of the IPUs of a system of 65,536 are some 100 MB.
const MAX_REPLY: usize = 512 << 20;

/// Makes a call. `Q` and `R` are its messages of `proto/`.
///
/// # Errors
/// A status that the controller has sent. A status with a source was made on this side, out of a broken connection.
pub async fn unary<Q, R>(channel: Channel, call: Call, request: Request<Q>) -> Result<Response<R>, Status>
where
    Q: Message + 'static,
    R: Message + Default + 'static,
{
    let mut grpc = Grpc::new(channel).max_decoding_message_size(MAX_REPLY);
    grpc.ready().await.map_err(|why| Status::unknown(format!("Service was not ready: {why}")))?;
    grpc.unary(request, PathAndQuery::from_static(call.path()), ProstCodec::<Q, R>::default()).await
}
