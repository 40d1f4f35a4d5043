//! Fields of study.

use crate::fields::network::{host, link, neighbour_discovery, route, router, sampling, tap};
use crate::fields::pages::{page, program};
use crate::fields::template::template;
use crate::fields::traffic::{arrivals, flow, requests};
use crate::fields::workload::workload;
use crate::fields::{
    choice, def, list, map, need, opt, rules, section, sections, Form, Kind, Section, MOST,
};
use serde_json::json;

sections! {
    experiment_file = section("ExperimentFile", "An experiment: a network, its traffic, what to vary, what to keep.", vec![
        need("dumbbell", Kind::Format, "Version of the file format: 1."),
        need("name", Kind::Name, "Title of the experiment. It also finds the experiment in a store."),
        def("description", Kind::Text, json!(""), "Free text about the experiment, shown in its report."),
        opt("template", Kind::Section(template), "A network by name: dumbbell, parallel-paths, parking-lot, fat-tree or leaf-spine."),
        def("hosts", map(Kind::Section(host), 20000), json!({}), "Hosts by name, with their TCP options. The entry defaults holds options of all hosts."),
        def("routers", map(Kind::Section(router), 20000), json!({}), "Routers by name, with packet spraying and processing jitter."),
        def("switches", map(Kind::Section(router), 20000), json!({}), "Switches by name, with the fields of routers."),
        def("links", list(Kind::Section(link), 0, 20000, false), json!([]), "Links between nodes, and changes of the links of a template."),
        def("routes", list(Kind::Section(route), 0, 20000, false), json!([]), "Routes that replace the path with the fewest hops."),
        opt("workload", Kind::Section(workload), "A mix of traffic as in Flent, such as rrul."),
        def("flows", list(Kind::Section(flow), 0, 20000, false), json!([]), "Flows: sender, receiver and kind of traffic."),
        def("arrivals", list(Kind::Section(arrivals), 0, 20000, false), json!([]), "Short TCP flows that arrive at random."),
        def("pages", list(Kind::Section(page), 0, 20000, false), json!([]), "Web pages that a client loads."),
        def("requests", list(Kind::Section(requests), 0, 20000, false), json!([]), "Requests and responses over persistent connections."),
        def("programs", list(Kind::Section(program), 0, 20000, false), json!([]), "Your own programs on hosts. The engines linux and netns run them."),
        def("plugins", map(Kind::Short(plugin, Form::PLUGIN), MOST), json!({}), "Congestion controls of your own by name, each with its file."),
        def("taps", list(Kind::Section(tap), 0, 20000, false), json!([]), "Places where packets are observed and captured."),
        opt("sampling", Kind::Short(sampling, Form::SAMPLING), "What is recorded over time: a time between samples, none, or tables to keep."),
        opt("neighbour_discovery", Kind::Short(neighbour_discovery, Form::NEIGHBOUR_DISCOVERY), "ARP between hosts and routers: true, or its times. By default link addresses are known."),
        need("duration", Kind::PositiveTime, "Virtual time of a run."),
        opt("factors", Kind::Factors, "What is varied: factors with their levels. Every combination of levels is a cell."),
        def("expect", list(Kind::Section(expect), 0, 20000, false), json!([]), "Bounds that results must keep, for dumbbell check."),
        opt("search", Kind::Section(search), "An optimum or a worst case that dumbbell search looks for."),
        def("repeats", Kind::Short(repeats, Form::REPEATS), json!({}), "Number of runs of each cell, or a rule that ends them."),
        def("seed", Kind::Whole(0, 4_611_686_018_427_387_904), json!(1), "Seed of the first repeat. Repeat k, from 0, has seed + k in every cell."),
    ]).rule(rules::traffic).rule(rules::plugins);
    attack = section("AttackSpec", "Objective of an attack: the worst value of a metric, and the share a simpler case keeps.", vec![
        need("metric", Kind::Metric { worst: true }, "Metric to make as bad as possible, or starvation."),
        opt("goal", choice(&["minimise", "maximise"], "goal"), "minimise or maximise."),
        opt("flow", Kind::Text, "Flow whose metric counts. By default all."),
        def("where", map(Kind::Text, MOST), json!({}), "Levels of factors that count. By default all."),
        def("over", choice(&["worst", "mean"], "way to take several values together"), json!("worst"), "Of several flows, pipes or cells, the worst value counts, or their mean."),
        def("subject_to", list(Kind::Section(constraint), 0, 20, false), json!([]), "Bounds on other metrics."),
        def("tolerance", Kind::Share, json!(0.1), "Share of the effect that a simpler case may lose."),
    ]).rule(rules::attack);
    constraint = section("ConstraintSpec", "Bounds of a metric that a result must keep. `over` says what counts of several flows, pipes or cells.", vec![
        need("metric", Kind::Metric { worst: false }, "Metric with bounds."),
        opt("flow", Kind::Text, "Flow whose metric counts. By default all."),
        def("where", map(Kind::Text, MOST), json!({}), "Levels of factors that count. By default all."),
        opt("above", Kind::Bound, "Lower bound, in the metric's unit."),
        opt("below", Kind::Bound, "Upper bound, in the metric's unit."),
        def("over", choice(&["worst", "mean"], "way to take several values together"), json!("worst"), "Of several flows, pipes or cells, the worst value counts, or their mean."),
    ]).rule(rules::expect).rule(rules::constraint);
    expect = section("ExpectSpec", "Bounds of a metric's mean over repeats, for all selected cells and flows. `where` selects levels of factors. Bounds are in the metric's unit.", vec![
        need("metric", Kind::Metric { worst: false }, "Metric with bounds. The interval of its mean over repeats counts."),
        opt("flow", Kind::Text, "Flow to which the expectation applies. By default all."),
        def("where", map(Kind::Text, MOST), json!({}), "Levels of factors to which the expectation applies. By default all."),
        opt("above", Kind::Bound, "Lower bound, in the metric's unit."),
        opt("below", Kind::Bound, "Upper bound, in the metric's unit."),
    ]).rule(rules::expect);
    optimise = section("OptimiseSpec", "Objective of an optimisation: a metric, and the constraints of the result.", vec![
        need("metric", Kind::Metric { worst: false }, "Metric to optimise."),
        need("goal", choice(&["minimise", "maximise"], "goal"), "minimise or maximise."),
        opt("flow", Kind::Text, "Flow whose metric counts. By default all."),
        def("where", map(Kind::Text, MOST), json!({}), "Levels of factors that count. By default all."),
        def("over", choice(&["worst", "mean"], "way to take several values together"), json!("worst"), "Of several flows, pipes or cells, the worst value counts, or their mean."),
        def("subject_to", list(Kind::Section(constraint), 0, 20, false), json!([]), "Bounds on other metrics."),
    ]);
    repeats = section("RepeatsSpec", "Number of repeats of each cell: from `min` to `max`, until an interval is narrow enough. Without `until` both are the fixed number.", vec![
        opt("until", Kind::Section(until), "Metric, and width of its interval, that end the repeats of a cell."),
        def("min", Kind::Whole(2, 100_000), json!(10), "Least repeats of a cell."),
        def("max", Kind::Whole(2, 100_000), json!(100), "Most repeats of a cell."),
    ]).rule(rules::repeats);
    search = section("SearchSpec", "A search: an optimum or a worst case in a space. `dumbbell.experiment.space` reads it.", vec![
        opt("optimise", Kind::Section(optimise), "An optimum under constraints."),
        opt("attack", Kind::Short(attack, Form::ATTACK), "A worst case, made simple afterwards."),
        need("space", Kind::Space, "Fields that the search varies, each with its range or values."),
        need("evaluations", Kind::Whole(1, 10_000), "Number of evaluations, the start values included."),
        def("repeats", Kind::Whole(1, 1_000), json!(3), "Runs of each evaluation."),
        def("seed", Kind::Whole(0, 2_147_483_648), json!(1), "Seed of the choice of values, and of the first repeat."),
        def("batch", Kind::Whole(1, 256), json!(4), "Evaluations between two choices of values. The result depends on it."),
    ]).one_of(&["optimise", "attack"]);
    plugin = section("PluginSpec", "A congestion control of your own. Flows name it as they name a built-in one.", vec![
        need("file", Kind::Text, "Shared library (.so), WebAssembly module (.wasm), Python file (.py), module of Linux (.c) or policy (.onnx), relative to the experiment file."),
        def("parameters", map(Kind::Number, MOST), json!({}), "Numbers that the plug-in reads by name."),
    ]);
    until = section("UntilSpec", "Half width of a metric's 95 % interval at which a cell has enough repeats. One of the two widths is given: a share of the mean, or an amount in the metric's unit.", vec![
        need("metric", Kind::Metric { worst: false }, "Metric whose 95 % interval decides."),
        opt("flow", Kind::Text, "Flow that decides. By default the widest interval decides."),
        opt("relative_half_width", Kind::Share, "Half width of the interval as a share of the mean."),
        opt("half_width", Kind::Number, "Half width of the interval in the metric's unit."),
    ]).rule(rules::until);
}
