//! Fields of template.

use crate::fields::network::{both_directions, spray};
use crate::fields::{def, list, need, opt, rules, section, sections, Form, Kind, Section, MOST};
use serde_json::json;

sections! {
    dumbbell_template = section("DumbbellTemplate", "Sources s1… – router r1 – link `bottleneck` – router r2 – destinations d1…. Fields of a pipe describe the bottleneck. The bottleneck has the smallest RTT of all pairs as its delay. The link of a destination adds the rest of its pair's RTT.", vec![
        def("pairs", Kind::Whole(1, 10_000), json!(1), "Number of sources, and of destinations."),
        need("rtt", Kind::Short(rtt, Form::RTT), "Base RTT: one for all pairs, a list with one for each, or {from, to}, spread evenly."),
        def("access", Kind::Section(both_directions), json!({}), "Fields of the links between hosts and routers."),
    ]).over(both_directions()).rule(rules::pairs);
    fat_tree_template = section("FatTreeTemplate", "Hosts h1… – edge routers edge1… – aggregation routers agg1… – core routers core1…. A fat tree of routers with `k` ports (M. Al-Fares, A. Loukissas, A. Vahdat, \"A scalable, commodity data center network architecture\", SIGCOMM 2008): `k` pods with k/2 edge and k/2 aggregation routers each, (k/2)² core routers, k³/4 hosts. Fields of a pipe describe every link; forward is upwards.", vec![
        need("k", Kind::Even, "Ports of a router: even, at most 32. There are k³/4 hosts."),
        def("spray", Kind::Short(spray, Form::SPRAY), json!({}), "How routers divide packets among equal paths."),
    ]).over(both_directions());
    leaf_spine_template = section("LeafSpineTemplate", "Hosts h1… – leaf routers leaf1… – spine routers spine1…; every leaf is linked to every spine. Fields of a pipe describe every link, those of `uplinks` the links between leaves and spines. Forward is upwards.", vec![
        need("leaves", Kind::Whole(1, 10_000), "Number of leaf routers."),
        need("spines", Kind::Whole(1, 10_000), "Number of spine routers."),
        need("hosts_per_leaf", Kind::Whole(1, 10_000), "Hosts at each leaf."),
        def("uplinks", Kind::Section(both_directions), json!({}), "Fields of the links between leaves and spines, where they differ from other links."),
        def("spray", Kind::Short(spray, Form::SPRAY), json!({}), "How leaves divide packets among the spines."),
    ]).over(both_directions()).rule(rules::leaf_spine);
    parallel_paths_template = section("ParallelPathsTemplate", "Sources s1… – router r1 – switches p1 ∥ p2 … – router r2 – destinations d1…. Fields of a pipe describe every path. `forward` applies where a switch sends to r2, `backward` where it sends to r1.", vec![
        def("sources", Kind::Whole(1, 10_000), json!(1), "Number of sources."),
        opt("destinations", Kind::Whole(1, 10_000), "Number of destinations; as many as sources by default."),
        def("paths", Kind::Short(paths, Form::PATHS), json!({}), "Number of paths, or a list with the fields of each path."),
        need("rtt", Kind::Time, "Base RTT of every path."),
        def("access", Kind::Section(both_directions), json!({}), "Fields of the links between hosts and routers."),
        def("spray", Kind::Short(spray, Form::SPRAY), json!({}), "How the routers r1 and r2 divide packets among the paths."),
        opt("use", Kind::Use, "Numbers of the paths to use, from 1, or all."),
    ]).over(both_directions()).rule(rules::used_paths);
    parking_lot_template = section("ParkingLotTemplate", "Routers r1 … r(hops+1) in a row; s0 → d0 passes all hops, s1 → d1 the first, and so on. Fields of a pipe describe every hop (links hop1, hop2 …). `rtt`: RTT of the path over all hops.", vec![
        def("hops", Kind::Whole(1, 1_000), json!(2), "Number of bottlenecks in a row."),
        need("rtt", Kind::Time, "Base RTT of the path over all hops, divided evenly over the hops."),
        def("access", Kind::Section(both_directions), json!({}), "Fields of the links between hosts and routers."),
    ]).over(both_directions());
    path = section("PathSpec", "Fields of one of several parallel paths.", vec![
        opt("rtt", Kind::Time, "Base RTT of this path."),
    ]).over(both_directions());
    paths = section("PathsSpec", "Number of paths, or the fields of each.", vec![
        opt("count", Kind::Whole(1, 1_000), "Number of paths."),
        opt("each", list(Kind::Section(path), 1, 1000, false), "Fields of each path."),
    ]);
    rtt = section("RttSpec", "RTTs: one for all pairs, one per pair, or spread evenly.", vec![
        opt("all", Kind::Time, "Base RTT of all pairs."),
        opt("each", list(Kind::Time, 0, MOST, false), "Base RTT of each pair."),
        opt("spread", Kind::Section(spread), "Lowest and highest base RTT; pairs are spread evenly between them."),
    ]);
    spread = section("Spread", "Values spread evenly from the first to the last.", vec![
        need("from", Kind::Time, "Lowest base RTT."),
        need("to", Kind::Time, "Highest base RTT."),
    ]);
    template = section("TemplateSpec", "Choice of a template.", vec![
        opt("dumbbell", Kind::Section(dumbbell_template), "Sources and destinations on two sides of one bottleneck."),
        opt("parallel-paths", Kind::Section(parallel_paths_template), "Two routers joined by several parallel paths."),
        opt("parking-lot", Kind::Section(parking_lot_template), "Several bottlenecks in a row, with one long and many short paths."),
        opt("fat-tree", Kind::Section(fat_tree_template), "A fat tree of routers with k ports, as in data centres."),
        opt("leaf-spine", Kind::Section(leaf_spine_template), "A leaf-spine network, as in data centres."),
    ]).rule(rules::one_template);
}
