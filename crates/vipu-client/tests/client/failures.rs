//! One test for each class of error, and for each way in which a controller can fail to answer.

use std::time::Instant;

use mock_vipu::{Effect, Fault, Rpc, StatusCode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tonic::Code;
use vipu_client::{Call, ErrorClass, ReadyState};
use vipu_types::Shape;

use super::*;

const SHORT: Duration = Duration::from_millis(200);

fn reject(code: Code) -> Fault {
    Fault::new(Effect::Reject { rpc: None, code: StatusCode(code), text: "own words".into() }).times(1)
}

#[tokio::test]
async fn every_status_has_its_class() {
    let (server, client) = pod64_and_client().await;
    for (code, class) in [
        (Code::Unavailable, ErrorClass::Unreachable),
        (Code::DeadlineExceeded, ErrorClass::Timeout),
        (Code::ResourceExhausted, ErrorClass::NoRoom),
        (Code::AlreadyExists, ErrorClass::AlreadyExists),
        (Code::NotFound, ErrorClass::NotFound),
        (Code::InvalidArgument, ErrorClass::Invalid),
        (Code::PermissionDenied, ErrorClass::Denied),
        (Code::Unauthenticated, ErrorClass::Stranger),
        (Code::FailedPrecondition, ErrorClass::NotReady),
        (Code::Aborted, ErrorClass::Aborted),
        (Code::Internal, ErrorClass::Internal),
    ] {
        server.mock().inject(reject(code));
        let error = client.create_partition(&wanted("p", 4)).await.unwrap_err();
        assert_eq!((error.class(), error.code()), (class, Some(code)));
        assert!(error.words().starts_with("own words"), "{error}");
    }
    assert_eq!(server.mock().report().partitions, []);
}

#[tokio::test]
async fn the_controllers_own_refusals_arrive() {
    let server = pod64(Duration::from_secs(3600)).await;
    let client = client_at(server.address(), PATIENT);
    client.create_partition(&wanted("slurm_1", 64)).await.unwrap();
    let full = client.create_partition(&wanted("slurm_42", 4)).await.unwrap_err();
    let place = format!("controller {}", server.address());
    assert_eq!(
        full.to_string(),
        format!("{place}: create partition slurm_42: 4 IPUs wanted, 0 are free (RESOURCE_EXHAUSTED)")
    );
    let odd = Requirements { shape: Shape { gcds: 3, ..Shape::OPEN }, ..wanted("odd", 4) };
    for (error, class) in [
        (client.create_partition(&wanted("slurm_1", 4)).await.unwrap_err(), ErrorClass::AlreadyExists),
        (client.remove_partition(&id("none"), true).await.unwrap_err(), ErrorClass::NotFound),
        (client.partition_config(&id("slurm_1")).await.unwrap_err(), ErrorClass::NotReady),
        (client.create_partition(&odd).await.unwrap_err(), ErrorClass::Invalid),
    ] {
        assert_eq!(error.class(), class, "{error}");
    }
}

#[tokio::test]
async fn a_refused_connection_is_made_again() {
    let (server, client) = pod64_and_client().await;
    client.list_partitions(None).await.unwrap();
    server.mock().refuse().await;
    // The existing connection may break under the first call.
    let _ = client.list_partitions(None).await.unwrap_err();
    for _ in 0..3 {
        let error = client.list_partitions(None).await.unwrap_err();
        assert_eq!((error.class(), error.code()), (ErrorClass::NotSent, None), "{error}");
        assert!(error.words().contains("refused"), "{error}");
    }
    server.mock().accept().await;
    client.list_partitions(None).await.unwrap();
}

#[tokio::test]
async fn a_call_that_hangs_ends_at_the_deadline() {
    let server = pod64(Duration::ZERO).await;
    let client = client_at(server.address(), SHORT);
    client.list_partitions(None).await.unwrap();
    server.mock().inject(Fault::new(Effect::Hang { rpc: None }).times(1));
    let error = client.list_partitions(None).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Timeout);
    assert_eq!(error.words(), "no answer within 200ms");
    client.list_partitions(None).await.unwrap();
}

/// The kernel accepts connections for a process that does not.
#[tokio::test]
async fn a_silent_server_ends_at_the_deadline_and_is_connected_to_afresh() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = client_at(silent.local_addr().unwrap(), SHORT);
    for _ in 0..2 {
        let asked = Instant::now();
        let error = client.list_partitions(None).await.unwrap_err();
        assert_eq!(error.class(), ErrorClass::Timeout, "{error}");
        assert!(asked.elapsed() >= SHORT && asked.elapsed() < PATIENT);
        tokio::time::timeout(PATIENT, silent.accept()).await.expect("each call connects").unwrap();
    }
}

#[tokio::test]
async fn garbage_is_no_answer() {
    let babbling = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = client_at(babbling.local_addr().unwrap(), PATIENT);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = babbling.accept().await {
            stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\nwho is there?\r\n").await.unwrap();
            // Unread data would cause a reset, in which the answer could be lost.
            let mut heard = Vec::new();
            drop(stream.read_to_end(&mut heard).await);
        }
    });
    let error = client.list_partitions(None).await.unwrap_err();
    assert_eq!((error.class(), error.code()), (ErrorClass::Unreachable, None), "{error}");
}

#[tokio::test]
async fn a_lost_reply_leaves_open_whether_the_call_took_effect() {
    let (server, client) = pod64_and_client().await;
    let lost = Effect::LostReply { rpc: Some(Rpc(Call::CreatePartition)) };
    server.mock().inject(Fault::new(lost).times(1));
    let error = client.create_partition(&wanted("p", 4)).await.unwrap_err();
    assert_eq!((error.class(), error.code()), (ErrorClass::Unreachable, None), "{error}");
    assert_eq!(client.partition_status(&id("p")).await.unwrap().ready, ReadyState::Active);
}

#[tokio::test]
async fn a_name_that_does_not_resolve_is_not_sent_to() {
    let endpoint = Endpoint::plain("no-such-host.invalid", 8090, PATIENT);
    let error = Client::new(endpoint).unwrap().list_partitions(None).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::NotSent, "{error}");
    assert!(error.to_string().starts_with("controller no-such-host.invalid:8090: "), "{error}");
}
