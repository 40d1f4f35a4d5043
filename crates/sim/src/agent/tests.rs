//! A session gives the same results in any steps; an agent's observations agree with the tables.

use super::*;
use crate::lab::{delay, dumbbell, mbps, serial, tcp, Silent, BULK};
use crate::session::Session;
use dumbbell_model::Span;
use dumbbell_policy::{Dense, Layer, Network};

const ALL: Sets = Sets { cwnd: true, pacing: true };

/// An agent's flow beside one of CUBIC: 20 Mbit/s, RTT 40 ms, a queue of 67 packets (one BDP).
fn scenario(flows: u32) -> Scenario {
    let forward = serial(mbps(20), Span::from_ms(20), 67);
    let mut scenario =
        dumbbell(Span::from_s(10), flows as usize, forward, delay(Span::from_ms(20)));
    for number in 0..flows as usize {
        scenario.flows.push(tcp(["f", "g"][number], number, Algorithm::Cubic, BULK));
    }
    match Agents::take(&mut scenario, &["f".to_owned()]) {
        Ok(()) => scenario,
        Err(error) => panic!("{error}"),
    }
}

fn session(
    scenario: &Scenario,
    sets: Sets,
    stepping: Stepping,
    action: Action,
) -> (Session, Arc<Agents>) {
    let pause = Pause::default();
    let agents = Arc::new(Agents::new(&["f".to_owned()], sets, stepping, &pause));
    let plugins: Arc<dyn Plugins> = Arc::<Agents>::clone(&agents);
    let opened = Session::open(Arc::new(scenario.clone()), 1, plugins, Some(pause));
    let Ok(mut session) = opened else { panic!("it opens") };
    assert!(agents.open(&mut session).is_ok_and(|open| open));
    agents.act(0, action);
    agents.begin_step();
    (session, agents)
}

/// Digest of a run in steps of this length.
fn digest(scenario: &Scenario, step: Span) -> String {
    let action = Action { cwnd: Some(100.0), pacing_bps: Some(15e6) };
    let (mut session, agents) = session(scenario, ALL, Stepping::Time, action);
    while session.reached() < session.end() {
        let at = session.reached() + step;
        assert!(session.run_until(at).is_ok());
        agents.step(0, session.reached());
    }
    match session.finish() {
        Ok(output) => output.digest,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn steps_of_any_length_give_the_same_digest() {
    for flows in [1, 2] {
        let scenario = scenario(flows);
        let whole = digest(&scenario, Span::from_s(10));
        assert_eq!(digest(&scenario, Span::from_ms(10)), whole);
        assert_eq!(digest(&scenario, Span::from_ms(1)), whole);
        assert_eq!(digest(&scenario, Span::from_ns(1_234_567)), whole);
    }
}

/// A run in one piece, and a session of the same scenario without agents.
#[test]
fn a_session_gives_the_digest_of_a_run() {
    let mut scenario = scenario(2);
    for flow in &mut scenario.flows {
        crate::lab::tcp_of(flow).congestion_control = Algorithm::Cubic;
    }
    let run = crate::run(&scenario, 3, &Silent).map(|output| output.digest);
    let opened = Session::open(Arc::new(scenario), 3, Arc::new(NoPlugins), None);
    let Ok(mut session) = opened else { panic!("it opens") };
    while session.reached() < session.end() {
        let at = session.reached() + Span::from_ms(7);
        assert!(session.run_until(at).is_ok());
    }
    let stepped = session.finish().map(|output| output.digest);
    assert_eq!(run.ok(), stepped.ok());
}

/// A window of 40 packets is 60 % of the BDP: 40 × 1448 bytes per 40 ms and serialisation.
#[test]
fn a_constant_window_is_a_window_per_round_trip() {
    let window = Action { cwnd: Some(40.0), pacing_bps: None };
    let sets = Sets { cwnd: true, pacing: false };
    let (mut session, agents) = session(&scenario(1), sets, Stepping::Time, window);
    let mut last = None;
    for second in 2..=5 {
        assert!(session.run_until(Time::ZERO + Span::from_s(second)).is_ok());
        last = Some(agents.step(0, session.reached()));
    }
    let Some(step) = last else { panic!("four steps") };
    let get = |which| step.get(which);
    // RTT: 40 ms, and the serialisation of 1514 and 66 bytes twice (access links and bottleneck).
    let rtt_ms = get(Observation::Rtt);
    assert!((40.0..66.0).contains(&rtt_ms), "{rtt_ms}");
    let throughput = 40.0 * 1448.0 * 8.0 / (rtt_ms * 1e3);
    assert!((get(Observation::Throughput) / throughput - 1.0).abs() < 0.02, "{step:?}");
    assert!((get(Observation::Goodput) / throughput - 1.0).abs() < 0.02, "{step:?}");
    assert!((get(Observation::SendingRate) / throughput - 1.0).abs() < 0.02, "{step:?}");
    assert_eq!((get(Observation::LossRate), get(Observation::Cwnd)), (0.0, 40.0));
    assert_eq!(get(Observation::Length), 1000.0);
    assert_eq!(Reward::Power.of(&step), get(Observation::Throughput) / rtt_ms);
}

/// Paced at 12 Mbit/s the flow has 12 Mbit/s of its 20, and no queue.
#[test]
fn a_constant_pacing_rate_is_the_rate() {
    let rate = Action { cwnd: None, pacing_bps: Some(12e6) };
    let sets = Sets { cwnd: false, pacing: true };
    let (mut session, agents) = session(&scenario(1), sets, Stepping::Time, rate);
    assert!(session.run_until(Time::ZERO + Span::from_s(4)).is_ok());
    agents.step(0, session.reached());
    assert!(session.run_until(Time::ZERO + Span::from_s(6)).is_ok());
    let step = agents.step(0, session.reached());
    // Linux paces frames: payload and headers (`skb->len` of the first segment, then whole frames).
    let (rate, least) = (step.get(Observation::Throughput), 12.0 * 1448.0 / 1514.0);
    assert!(rate > 0.98 * least && rate < 12.1, "{rate}");
    assert!(step.get(Observation::QueueDelay) < 3.0, "{step:?}");
}

#[test]
fn a_step_of_round_trips_lasts_an_rtt_and_one_of_acks_has_as_many() {
    let window = Action { cwnd: Some(40.0), pacing_bps: None };
    let sets = Sets { cwnd: true, pacing: false };
    let end = |session: &Session| session.end();
    let (mut session, agents) = session(&scenario(1), sets, Stepping::RoundTrips(1), window);
    for number in 0..50 {
        agents.begin_step();
        let until = end(&session);
        assert!(session.run_until(until).is_ok());
        let step = agents.step(0, session.reached());
        let (length, rtt) = (step.get(Observation::Length), step.get(Observation::Rtt));
        assert!(number < 5 || (length / rtt - 1.0).abs() < 0.1, "{length} ms, RTT {rtt} ms");
    }
    let (mut session, agents) = self::session(&scenario(1), sets, Stepping::Acks(8), window);
    for _ in 0..50 {
        agents.begin_step();
        let until = end(&session);
        assert!(session.run_until(until).is_ok());
        assert_eq!(agents.step(0, session.reached()).get(Observation::Acks), 8.0);
    }
}

#[test]
fn a_flow_without_tcp_or_of_another_name_is_refused() {
    let mut scenario = scenario(1);
    let refused = Agents::take(&mut scenario, &["h".to_owned()]);
    let message = refused.err().map(|error| error.message);
    assert_eq!(message.as_deref(), Some("agent h: no such flow; there are f"));
}

const fn sent_between_threads<T: Send>() {}
const _: () = sent_between_threads::<Session>();

/// A policy of rtt ratio and window share; `step` and its number end a step.
fn policy(stepping: Stepping, length: Span) -> Learnt {
    let layer = |inputs, weights: &[f64], bias: &[f64]| {
        Layer::Dense(Dense { inputs, weights: weights.to_vec(), bias: bias.to_vec() })
    };
    let layers = vec![layer(2, &[-1.0, 0.05, -0.02, 0.01], &[1.2, -0.08]), Layer::Tanh];
    Learnt {
        network: Network { inputs: 2, outputs: 2, layers },
        observations: vec![Observation::RttRatio, Observation::Cwnd],
        normalised: true,
        actions: Actions { acts: vec![Act::CwndFactor, Act::PacingRate], scaled: true },
        stepping,
        length_ns: length.as_ns(),
    }
}

/// Plug-ins that are one policy.
struct Followed(Arc<Learnt>);

impl Plugins for Followed {
    fn refusal(&self, _: Plugin) -> Option<String> {
        None
    }

    fn make(&self, _: Plugin, _: &str, _: &TcpOptions) -> Box<dyn CongestionControl> {
        Arc::clone(&self.0).control(Box::new(|_, what| panic!("{what}")))
    }

    fn failure(&self) -> Option<Failure> {
        None
    }
}

/// Digest of an agent that asks the policy at each step, and steps it took.
fn asked(scenario: &Scenario, policy: &Learnt) -> (String, u32) {
    let pause = Pause::default();
    let names = ["f".to_owned()];
    let agents = Arc::new(Agents::new(&names, policy.actions.sets(), policy.stepping, &pause));
    let plugins: Arc<dyn Plugins> = Arc::<Agents>::clone(&agents);
    let opened = Session::open(Arc::new(scenario.clone()), 1, plugins, Some(pause));
    let Ok(mut session) = opened else { panic!("it opens") };
    assert!(agents.open(&mut session).is_ok_and(|open| open));
    let (mut last, mut steps) = (agents.step(0, session.reached()), 0);
    while session.reached() < session.end() {
        let seen: Vec<f32> =
            policy.observations.iter().map(|which| last.seen(*which, true) as f32).collect();
        let in_unit = |(at, value)| policy.actions.in_unit(at, value).unwrap_or(f64::NAN);
        let values: Vec<f64> = policy.act(&seen).into_iter().enumerate().map(in_unit).collect();
        agents.act(0, policy.actions.action(agents.held(0), &values));
        agents.begin_step();
        let at = session.reached() + Span::from_ns(policy.length_ns);
        assert!(session.run_until(at).is_ok());
        last = agents.step(0, session.reached());
        steps += 1;
    }
    match session.finish() {
        Ok(output) => (output.digest, steps),
        Err(error) => panic!("{error}"),
    }
}

/// The flow has the same window and pacing rate at all times.
#[test]
fn a_policy_acts_as_a_congestion_control_as_it_acted_in_the_environment() {
    let rates = [
        (Stepping::Time, Span::from_ms(20)),
        (Stepping::Time, Span::from_ns(1_234_567)),
        (Stepping::RoundTrips(1), Span::from_s(1)),
        (Stepping::Acks(8), Span::from_ms(30)),
    ];
    for flows in [1, 2] {
        let mut scenario = scenario(flows);
        scenario.sampling.samples = true;
        scenario.duration = Span::from_s(3);
        for (stepping, length) in rates {
            let policy = policy(stepping, length);
            let (digest, steps) = asked(&scenario, &policy);
            assert!(steps > 30, "{steps}");
            let followed = Followed(Arc::new(policy));
            match crate::run_with(&scenario, 1, &Silent, &followed) {
                Ok(output) => assert_eq!(output.digest, digest, "{stepping:?} {length:?}"),
                Err(error) => panic!("{error}"),
            }
        }
    }
}
