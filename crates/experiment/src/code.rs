//! Codes of the causes of refusals. `dumbbell help CODE` explains each.

/// Code of a cause. Numbers are those of `dumbbell/codes.py`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Form of an override.
    SetForm,
    /// Field of an override.
    SetField,
    /// Level of an override.
    SetLevel,
    /// Experiment.
    Experiment,
    /// Unreadable.
    Unreadable,
    /// Yaml.
    Yaml,
    /// Not experiment.
    NotExperiment,
    /// Unknown field.
    UnknownField,
    /// Missing field.
    MissingField,
    /// Field kind.
    FieldKind,
    /// One of.
    OneOf,
    /// Factors.
    Factors,
    /// Reference.
    Reference,
    /// Unused factor.
    UnusedFactor,
    /// Cells.
    Cells,
    /// Repeats.
    Repeats,
    /// Sampling.
    Sampling,
    /// Expect.
    Expect,
    /// Search.
    Search,
    /// Nothing expected.
    NothingExpected,
    /// Quantity.
    Quantity,
    /// Unit missing.
    UnitMissing,
    /// Unit unknown.
    UnitUnknown,
    /// Out of range.
    OutOfRange,
    /// Unknown name.
    UnknownName,
    /// Bad name.
    BadName,
    /// Network.
    Network,
    /// No node.
    NoNode,
    /// No path.
    NoPath,
    /// Name taken.
    NameTaken,
    /// Rates file.
    RatesFile,
    /// Buffer missing.
    BufferMissing,
    /// Bdp.
    Bdp,
    /// Access.
    Access,
    /// Template.
    Template,
    /// Queue.
    Queue,
    /// Queue limit.
    QueueLimit,
    /// Queue parameters.
    QueueParameters,
    /// Flow.
    Flow,
    /// No traffic.
    NoTraffic,
    /// Flow taken.
    FlowTaken,
    /// Subflows.
    Subflows,
    /// Page.
    Page,
    /// Program.
    Program,
    /// Plug-in.
    Plugin,
    /// Host.
    Host,
}

impl Code {
    /// The code as messages show it, such as `E104`.
    pub fn number(self) -> &'static str {
        match self {
            Self::SetForm => "E002",
            Self::SetField => "E003",
            Self::SetLevel => "E004",
            Self::Experiment => "E100",
            Self::Unreadable => "E101",
            Self::Yaml => "E102",
            Self::NotExperiment => "E103",
            Self::UnknownField => "E104",
            Self::MissingField => "E105",
            Self::FieldKind => "E106",
            Self::OneOf => "E107",
            Self::Factors => "E108",
            Self::Reference => "E109",
            Self::UnusedFactor => "E110",
            Self::Cells => "E111",
            Self::Repeats => "E112",
            Self::Sampling => "E113",
            Self::Expect => "E114",
            Self::Search => "E115",
            Self::NothingExpected => "E116",
            Self::Quantity => "E201",
            Self::UnitMissing => "E202",
            Self::UnitUnknown => "E203",
            Self::OutOfRange => "E204",
            Self::UnknownName => "E205",
            Self::BadName => "E206",
            Self::Network => "E300",
            Self::NoNode => "E301",
            Self::NoPath => "E302",
            Self::NameTaken => "E303",
            Self::RatesFile => "E304",
            Self::BufferMissing => "E305",
            Self::Bdp => "E306",
            Self::Access => "E307",
            Self::Template => "E308",
            Self::Queue => "E400",
            Self::QueueLimit => "E401",
            Self::QueueParameters => "E402",
            Self::Flow => "E500",
            Self::NoTraffic => "E501",
            Self::FlowTaken => "E502",
            Self::Subflows => "E503",
            Self::Page => "E504",
            Self::Program => "E505",
            Self::Plugin => "E507",
            Self::Host => "E506",
        }
    }
}
