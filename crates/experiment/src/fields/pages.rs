//! Fields of pages.

use crate::fields::{
    choice, def, list, map, need, opt, rules, section, sections, Kind, Section, MOST,
};
use serde_json::json;

sections! {
    object = section("ObjectSpec", "An object of a page. `count`: number of such objects; `{i}` in the name is 1, 2, …", vec![
        need("name", Kind::Name, "Name of the object. With count, {i} stands for 1, 2 and so on."),
        opt("count", Kind::Whole(1, 100_000), "Number of such objects."),
        need("size", Kind::PositiveSize, "Length of its response, headers included."),
        opt("request", Kind::PositiveSize, "Length of its request. By default that of the page."),
        opt("server", Kind::Name, "Host of this object. By default that of the page."),
        def("after", list(Kind::Name, 0, MOST, true), json!([]), "Objects that must be complete before this one is due."),
        def("delay", Kind::Time, json!(0), "Time from then until it is due."),
        def("service", Kind::Time, json!(0), "Processing time of the server before it responds."),
        opt("group", Kind::Name, "Group of the object in metrics. By default the page."),
    ]);
    page = section("PageSpec", "A page and its client.", vec![
        need("name", Kind::Name, "Name of the page. Its connections are flows called name-server-1 and so on."),
        need("client", Kind::Name, "Host that loads the page."),
        need("server", Kind::Name, "Host of the objects that name no other server."),
        def("start", Kind::Time, json!(0), "Time at which the first objects are due."),
        def("start_jitter", Kind::Time, json!(0), "Upper bound of a uniform random delay of the start."),
        def("protocol", choice(&["http/1.1", "http/2"], "protocol"), json!("http/1.1"), "http/1.1 (one request at a time on a connection) or http/2 (all over one connection)."),
        opt("connections", Kind::Whole(1, 256), "Maximum number of connections to each server."),
        def("tls", choice(&["none", "1.3", "1.2"], "TLS version"), json!("none"), "Handshake of TLS: none, 1.2 (two round trips) or 1.3 (one)."),
        def("lookup", Kind::Time, json!(0), "Time of the name lookup before the first connection to a server."),
        def("congestion_control", Kind::Algorithm, json!("cubic"), "Congestion control at both ends."),
        opt("fq", Kind::Flag, "The fq qdisc of both ends paces. By default as the congestion control needs."),
        opt("notsent_lowat", Kind::PositiveSize, "TCP_NOTSENT_LOWAT at both ends: the application writes while less than this is not sent. By default the send buffer decides."),
        def("request", Kind::PositiveSize, json!(400), "Length of a request with its headers."),
        opt("page", choice(&["median-2024", "news"], "typical page"), "Typical page by name, in place of objects."),
        opt("objects", list(Kind::Section(object), 1, 100000, false), "Objects of the page. Either this or `page`."),
    ]).one_of(&["objects", "page"]).rule(rules::page);
    program = section("ProgramSpec", "A program on a host. `run`: a command line; `{d1}` is the address of the host d1.", vec![
        opt("name", Kind::Name, "Name in tables and messages. By default the program's file and its host."),
        need("on", Kind::Name, "Host on which the program runs."),
        need("run", Kind::Command, "Command line, or a list of arguments. No shell runs it. {d1} is the address of the host d1."),
        def("start", Kind::Time, json!(0), "Time of its start."),
        opt("stop", Kind::Time, "Time of SIGTERM; SIGKILL follows after 1 s. By default the end of the run."),
        def("environment", map(Kind::ProgramText, MOST), json!({}), "Variables of its environment."),
        def("input", Kind::ProgramText, json!(""), "Text on its standard input."),
        opt("expect", Kind::Section(exit), "What must be true of its end."),
    ]);
    exit = section("ExitSpec", "End that a program must have.", vec![
        need("exit", Kind::Whole(0, 255), "Exit code that the program must have. Another one fails this run."),
    ]);
}
