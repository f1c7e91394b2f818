//! What clients may ask.

use vipu_status::Status;

use super::{Exporter, now, pod32};

#[test]
fn cli_exporter_reads_the_document_anew_for_each_request() {
    let exporter = Exporter::start();
    let readable = || {
        let accept = "Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5";
        let answer = exporter.send(&format!("GET /metrics HTTP/1.1\r\nHost: it\r\n{accept}\r\n\r\n"));
        assert_eq!(answer.code, 200, "a scrape never fails: {answer:?}");
        assert!(answer.head.contains("content-type: application/openmetrics-text; version=1.0.0"));
        assert!(answer.body.ends_with("# EOF\n"));
        let older = exporter.get("/metrics");
        assert!(older.head.contains("content-type: text/plain; version=0.0.4"), "{older:?}");
        answer.body.contains("\nvipu_status_readable 1\n")
    };
    assert!(!readable(), "there is no document");
    exporter.write(&pod32().to_json().unwrap());
    assert!(readable());
    exporter.write(b"{\"schema\": 1, ");
    assert!(!readable());
    exporter.write(&pod32().to_json().unwrap());
    assert!(readable());
}

#[test]
fn cli_exporter_answers_which_partitions_fit() {
    let exporter = Exporter::serve(&pod32());
    let ask = |body: &str| exporter.post("/query", body);
    // The figures are those of the operator for a Pod of 32 IPUs with four in use.
    assert_eq!(ask("{\"size\":2}").body, r#"{"available":true,"numOfPartitions":14,"message":""}"#);
    assert_eq!(
        ask("{\"size\":16, \"model\": \"pod32\"}").body,
        r#"{"available":true,"numOfPartitions":1,"message":""}"#
    );
    let answer = ask("{\"size\":64}");
    assert_eq!(answer.code, 200);
    assert_eq!(
        answer.body,
        r#"{"available":false,"numOfPartitions":0,"message":"a job gets at most 32 IPUs"}"#
    );
    let message = |largest_now| {
        let mut full = pod32();
        full.models[0].largest_now = largest_now;
        exporter.write(&full.to_json().unwrap());
        let answer: serde_json::Value = serde_json::from_str(&ask("{\"size\":2}").body).unwrap();
        answer["message"].as_str().unwrap().to_owned()
    };
    assert_eq!(message(0), "nothing fits now");
    assert_eq!(message(1), "no partition of 2 IPUs fits now; the largest that fits has 1 IPU");
}

#[test]
fn cli_exporter_says_what_is_wrong_with_a_question() {
    let exporter = Exporter::serve(&pod32());
    for (body, why) in [
        ("", "EOF while parsing a value at line 1 column 0: write {\\\"size\\\":2}"),
        ("{\"size\":\"2\"}", "invalid type: string"),
        ("{\"size\":-1}", "invalid value: integer `-1`"),
        ("{\"size\":3}", "size: 3 IPUs is not a power of two"),
        ("{\"size\":0}", "size: a partition has at least 1 IPU"),
        ("{\"size\":2,\"modle\":\"x\"}", "unknown field `modle`"),
        ("{\"size\":2,\"model\":\"pod64\\u001b\"}", "model pod64? is unknown: known are pod32"),
        ("\u{7f}", "expected value"),
    ] {
        let answer = exporter.post("/query", body);
        assert_eq!(answer.code, 400, "{body}: {answer:?}");
        assert!(
            answer.body.starts_with("{\"error\":\"") && answer.body.contains(why),
            "{body}: {}",
            answer.body
        );
    }
    assert_eq!(exporter.get("/query").code, 405);
    assert_eq!(exporter.post("/metrics", "").code, 405);
    let lost = exporter.get("/nothing");
    assert_eq!(lost.code, 404);
    assert!(lost.body.contains("there are /metrics, /stats, /query, /status and /healthz"), "{}", lost.body);
}

#[test]
fn cli_exporter_is_healthy_while_the_document_is_new() {
    let exporter = Exporter::start();
    let health = || {
        let answer = exporter.get("/healthz");
        (answer.code, answer.body)
    };
    let (code, body) = health();
    assert_eq!(code, 503);
    assert!(body.contains("cannot read it: No such file"), "{body}");
    exporter.write(&pod32().to_json().unwrap());
    assert_eq!(health().0, 200);
    for (written, why) in
        [(now() - 100, "s old: slurmctld may be down"), (now() + 100, "in the future: compare the clocks")]
    {
        exporter.write(&Status { written, ..pod32() }.to_json().unwrap());
        let (code, body) = health();
        assert_eq!(code, 503);
        assert!(body.contains(why), "{body}");
        assert_eq!(exporter.post("/query", "{\"size\":2}").code, 503, "old numbers answer no question");
    }
}

#[test]
fn cli_exporter_gives_other_hosts_the_document_without_owners() {
    let exporter = Exporter::serve(&pod32());
    let status = Status::parse(exporter.get("/status").body.as_bytes()).unwrap();
    assert_eq!(status.models, pod32().models);
    assert_eq!((&status.partitions[0].id, &status.partitions[0].job), (&None, &None));
    assert!(!exporter.get("/stats").body.contains("4711"));
    exporter.write(b"{");
    let refused = exporter.get("/status");
    assert!(refused.code == 503 && refused.body.contains("it is no status document: EOF"), "{refused:?}");
}

#[test]
fn cli_exporter_has_a_page_with_links() {
    let exporter = Exporter::start();
    let page = exporter.get("/");
    assert!(page.code == 200 && page.head.contains("content-type: text/html"), "{page:?}");
    assert!(
        ["metrics", "stats", "status", "healthz"]
            .iter()
            .all(|path| page.body.contains(&format!("href={path}")))
    );
}
