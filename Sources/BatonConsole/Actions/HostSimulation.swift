import BatonAPI
import BatonCoordinator
import BatonModel
import BatonSpec

/// Replaces conditions of a host for a time, so that people see what a fleet does with them.
enum HostSimulation {
  private static let fields = ["power", "battery", "lowPowerMode", "thermal", "network", "idle"]
  private static let terms = Duration.seconds(1)...Duration.seconds(86_400)
  private static let usual = Duration.seconds(600)

  static let action = Action(
    path: "/hosts/{host}/simulate", method: "SimulateConditions", fields: fields + ["for", "end"],
    question: { visit, form in
      let host = try await visit.host()
      return try form.truth("end") ? end(host) : simulate(host)
    },
    perform: { visit, form in
      let host = try visit.call.host
      let (form, page) = (form.withoutEmptyValues, Parts.link(of: host))
      if try form.truth("end") {
        try await visit.run { try await $0.simulateConditions(ConditionOverrides(), on: host, lasting: .zero) }
        return Outcome(text: "\(host.rawValue) has its real conditions again.", page: page)
      }
      let overrides = try overrides(form)
      guard !overrides.isEmpty else {
        throw HTTPFailure.invalid("no condition was chosen, so nothing was simulated")
      }
      let term = try form.duration("for", in: terms) ?? usual
      try await visit.run { try await $0.simulateConditions(overrides, on: host, lasting: term) }
      return Outcome(
        text: "\(host.rawValue) has simulated conditions for \(term.inWords).", page: page,
        undo: ("End the simulation", page.appending("simulate").with([("end", "true")])))
    })

  private static func end(_ host: HostReport) -> Question {
    Question(
      title: "End the simulation on \(host.name.rawValue)", text: "<p>The host has its real conditions again.</p>",
      fields: Parts.hidden("end", "true"), button: "End the simulation", back: Parts.link(of: host.name))
  }

  private static func simulate(_ host: HostReport) -> Question {
    let (flags, none) = ([("true", "on"), ("false", "off")], "as it is")
    return Question(
      title: "Simulate conditions of \(host.name.rawValue)",
      text: """
        <p>Baton believes these conditions in place of the real ones for a time: launches that do not permit them are \
        asked to stop, as they would be. The host itself does not change. Earlier simulations there end.</p>
        """,
      fields: """
        <div class="grid">
        \(Fields.select("Power", "power", PowerSource.allCases.map { ($0.rawValue, $0.rawValue) }, none: none))
        <label>Battery in per cent <input name="battery" type="number" min="0" max="100"></label>
        \(Fields.select("Low power mode", "lowPowerMode", flags, none: none))
        \(Fields.select("Heat", "thermal", ThermalState.allCases.map { ($0.name, $0.name) }, none: none))
        \(Fields.select("Network", "network", NetworkState.allCases.map { ($0.rawValue, $0.rawValue) }, none: none))
        \(Fields.select("Idle", "idle", [("true", "yes"), ("false", "no, a person uses it")], none: none))
        <label>For <input name="for" value="10m" required maxlength="20"></label>
        </div>
        """, button: "Simulate", back: Parts.link(of: host.name))
  }

  private static func overrides(_ form: Query) throws(HTTPFailure) -> ConditionOverrides {
    var overrides = ConditionOverrides(
      power: try form.word("power"), battery: try form.number("battery", in: 0...100),
      network: try form.word("network"))
    if let name = try form.text("thermal") {
      guard let state = ThermalState(name: name) else { throw .invalid("'thermal' is none of the states of heat") }
      overrides.thermal = state
    }
    if try form.text("lowPowerMode") != nil { overrides.lowPowerMode = try form.truth("lowPowerMode") }
    if try form.text("idle") != nil { overrides.isIdle = try form.truth("idle") }
    return overrides
  }
}
