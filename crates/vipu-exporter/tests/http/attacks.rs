//! What clients should not do.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use super::{Answer, Exporter, pod32};

#[test]
fn cli_exporter_refuses_what_is_too_large() {
    let exporter = Exporter::serve(&pod32());
    let large = exporter.post("/query", &" ".repeat(5000));
    assert_eq!(large.code, 413, "{large:?}");
    assert!(large.body.starts_with("{\"error\":"), "{}", large.body);
    let announced = exporter.send("POST /query HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n");
    assert_eq!(announced.code, 413, "{announced:?}");
    let mut stream = exporter.connect();
    // The exporter may close the connection before all is sent.
    let _ = stream.write_all(format!("GET /metrics HTTP/1.1\r\nX: {}", "x".repeat(1 << 20)).as_bytes());
    let mut answer = [0; 12];
    if stream.read_exact(&mut answer).is_ok() {
        assert_eq!(&answer, b"HTTP/1.1 431");
    }
    assert_eq!(exporter.get("/healthz").code, 200);
}

#[test]
fn cli_exporter_survives_garbage() {
    let exporter = Exporter::serve(&pod32());
    for garbage in ["\0\0\0\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\u{16}\u{3}\u{1}\r\n\r\n"] {
        assert_eq!(exporter.send(garbage).code, 400, "{garbage:?}");
    }
    drop(exporter.connect());
    assert_eq!(exporter.get("/healthz").code, 200);
}

#[test]
fn cli_exporter_serves_others_while_clients_are_slow() {
    let exporter = Exporter::serve(&pod32());
    // More than it serves at a time. None of them sends a whole request.
    let mut slow: Vec<TcpStream> = (0..40).map(|_| exporter.connect()).collect();
    for stream in &mut slow {
        stream.write_all(b"GET /metrics HTTP/1.1\r\n").unwrap();
    }
    // It is answered as soon as the slow ones have lost their places.
    assert_eq!(exporter.get("/healthz").code, 200);
    let first = Answer::read(slow.swap_remove(0));
    assert!([0, 408].contains(&first.code), "the first of them lost its connection: {first:?}");
}
