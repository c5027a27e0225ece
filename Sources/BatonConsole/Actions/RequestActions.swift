import BatonAPI
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonSpec
import BatonStore

/// What can be done with one request.
enum RequestActions {
  static let all = [cancel, retry, redefine, priority, launch, expire] + SelectedRequests.all

  /// The buttons of a request, those that make sense in its state.
  /// - Parameter definition: what it runs; `nil` if that is not known.
  static func buttons(_ record: RequestRecord, _ definition: RequestDefinition?, _ visit: Visit) -> [HTML] {
    let link = Parts.link(of: record.identifier, record.number)
    let isLive = !record.state.isEnded
    let keepsEarlier = record.state.isPending && definition?.isApplied == false
    return [
      keepsEarlier ? visit.button("Use the new definition", link.appending("redefine"), "Redefine") : "",
      record.state == .failed ? visit.button("Retry", link.appending("retry"), "Retry") : "",
      isLive ? visit.button("Cancel", link.appending("cancel"), "Cancel", isDangerous: true) : "",
      isLive ? visit.button("Poke", Submitting.poke(record), "Submit") : "",
      record.state.isPending ? visit.button("Priority", link.appending("priority"), "SetPriority") : "",
      record.state.isPending ? visit.button("Start now", link.appending("simulate-launch"), "SimulateLaunch") : "",
      record.state == .running ? visit.button("Stop now", link.appending("simulate-expire"), "SimulateExpiry") : "",
    ]
  }

  private static func action(
    _ part: String, _ method: String, fields: [String] = [],
    question: @escaping @Sendable (Visit, RequestDetails, Query) async throws -> Question,
    perform: @escaping @Sendable (Visit, JobIdentifier, Int, Query) async throws -> Outcome
  ) -> Action {
    Action(
      path: "/requests/{identifier}/{number}/\(part)", method: method, fields: fields,
      question: { visit, query in
        let (identifier, number) = (try visit.call.identifier, try visit.call.number)
        let details = try await visit.run { try await $0.details(identifier, number: number) }
        return try await question(visit, details, query)
      },
      perform: { visit, form in
        guard let number = try visit.call.number else { preconditionFailure("the path has a number") }
        return try await perform(visit, try visit.call.identifier, number, form)
      })
  }

  private static func name(_ record: RequestRecord) -> String { "\(record.identifier) #\(record.number)" }
  private static func back(_ record: RequestRecord) -> Link { Parts.link(of: record.identifier, record.number) }

  private static let cancel = action(
    "cancel", "Cancel",
    question: { _, details, _ in
      let record = details.record
      let place = record.host.map { "on \($0)" } ?? ""
      let what: HTML =
        switch record.state {
        case .running:
          """
          <p>It runs \(record.shards?.text ?? place). Its batch may finish within its closing window; then it ends for \
          good. What it has done stays done: \(record.unitsText) units.</p>
          """
        case .scheduled, .ready: "<p>It does not run now. It ends for good, and will not be launched.</p>"
        case .succeeded, .failed, .cancelled: "<p>It has ended already: nothing will change.</p>"
        }
      return Question(
        title: "Cancel \(name(record))", text: what, button: "Cancel the request", isDangerous: true, back: back(record)
      )
    },
    perform: { visit, identifier, number, _ in
      let done = try await visit.run { api in
        try await api.cancel(.identifier(identifier, number: number), by: visit.principal)
      }
      return Outcome(
        text: done.isEmpty ? "\(identifier) #\(number) had ended before." : "\(identifier) #\(number) is cancelled.",
        page: Parts.link(of: identifier, number))
    })

  private static let retry = action(
    "retry", "Retry", fields: ["skip", "new"],
    question: { visit, details, _ in
      let record = details.record
      guard record.state == .failed else {
        throw HTTPFailure(409, "conflict", "\(name(record)) has not failed: it is \(record.state.rawValue)")
      }
      let batches = try await visit.run { try await BatchList.failed(of: record, asking: $0) }
      let skipped: HTML =
        batches.map { list in
          let items = list.batches.flatMap { batch in
            batch.items.map { item -> HTML in "<li><code>\(item)</code></li>" }
          }
          return "<p>The batch at which it stands has these items:</p><ul class=\"items\">\(items)</ul>"
        } ?? ""
      return Question(
        title: "Retry \(name(record))",
        text: """
          <p>It goes on at its checkpoint, after \(record.unitsText) units. Its failure was: \
          \((record.reason ?? "it gave no reason").lastLine)</p>\(skipped)
          """,
        fields: """
          \(Parts.checkbox("skip", "Skip the batch at which it stands: its items are not worked on"))
          \(Parts.checkbox("new", "With the definition that is applied now"))
          """, button: "Retry", back: back(record))
    },
    perform: { visit, identifier, number, form in
      let (skips, isNew) = (try form.truth("skip"), try form.truth("new"))
      _ = try await visit.run { api in
        try await api.retry(
          identifier, number: number, skipping: skips ? .nextBatch : .nothing, withNewDefinition: isNew)
      }
      return Outcome(text: "\(identifier) #\(number) goes on.", page: Parts.link(of: identifier, number))
    })

  private static let redefine = action(
    "redefine", "Redefine",
    question: { visit, details, _ in
      let record = details.record
      let (own, applied) = try await visit.run { api in
        let own = try await api.definition(of: record.identifier, number: record.number)
        let applied = try await api.definitions(named: [IdentifierPattern(record.identifier)])
        // Of several that match, the one with the longest pattern counts.
        let matching = applied.map(\.definition).filter { $0.pattern.matches(record.identifier) }
        return (own, matching.max { $0.pattern.rawValue.count < $1.pattern.rawValue.count })
      }
      guard !own.isApplied, let applied else {
        throw HTTPFailure(409, "conflict", "\(name(record)) has the definition that is applied for it already")
      }
      return Question(
        title: "Give \(name(record)) the definition that is applied now",
        text: """
          <p>It keeps the definition under which it was submitted. The one that is applied now differs in this:</p>\
          \(Changes.list(DefinitionChange.between(DefinitionValue(own.definition), DefinitionValue(applied))))
          <p>It goes on at its checkpoint. This is refused if it has committed batches and its items, its batch size or \
          its shards would change.</p>
          """, button: "Use the new definition", back: back(record))
    },
    perform: { visit, identifier, number, _ in
      _ = try await visit.run { try await $0.redefine(identifier, number: number) }
      return Outcome(
        text: "\(identifier) #\(number) has the definition that is applied now.",
        page: Parts.link(of: identifier, number))
    })

  private static let priority = action(
    "priority", "SetPriority", fields: ["priority"],
    question: { _, details, _ in
      let record = details.record
      let options = Priority.allCases.map { priority -> HTML in
        """
        <option value="\(priority.name)"\(priority == record.priority ? " selected" : "")>\(priority.name)</option>
        """
      }
      return Question(
        title: "Priority of \(name(record))", text: "<p>Requests of a higher priority start first.</p>",
        fields: "<label>Priority <select name=\"priority\">\(options)</select></label>", button: "Set the priority",
        back: back(record))
    },
    perform: { visit, identifier, number, form in
      guard let priority = try form.text("priority").flatMap({ Priority(name: $0) }) else {
        throw HTTPFailure.invalid("'priority' has to be one of background, utility, userInitiated")
      }
      _ = try await visit.run { try await $0.setPriority(identifier, number: number, priority) }
      return Outcome(
        text: "\(identifier) #\(number) has the priority \(priority.name).", page: Parts.link(of: identifier, number))
    })

  private static let launch = action(
    "simulate-launch", "SimulateLaunch", fields: ["host"],
    question: { _, details, _ in
      let record = details.record
      return Question(
        title: "Start \(name(record)) now",
        text: """
          <p>It starts regardless of its times and of the conditions of the host, as a simulated launch. If no host is \
          named, the first one that can run it takes it.</p>
          """,
        fields: "<label>Host (may be empty) <input name=\"host\" autocomplete=\"off\"></label>", button: "Start now",
        back: back(record))
    },
    perform: { visit, identifier, number, form in
      let text = try form.text("host").flatMap { $0.isEmpty ? nil : $0 }
      let host = try text.map { text throws(HTTPFailure) in try Call.host(text) }
      let launch = try await visit.run { try await $0.simulateLaunch(identifier, number: number, on: host) }
      return Outcome(
        text: "\(identifier) #\(number) starts on \(launch.host), launch \(launch.launch).",
        page: Parts.link(of: identifier, number))
    })

  private static let expire = action(
    "simulate-expire", "SimulateExpiry", fields: ["reason"],
    question: { _, details, _ in
      let record = details.record
      let kinds = ExpiryReason.Kind.allCases.filter { $0 != .simulated }
      let options = kinds.map { kind -> HTML in "<option value=\"\(kind.rawValue)\">\(kind.rawValue)</option>" }
      return Question(
        title: "Stop \(name(record)) now",
        text: """
          <p>Its launch \(record.host.map { "on \($0) " } ?? "")is asked to stop, as if a condition of the host had \
          changed: its batch may finish within its closing window. The request goes on later, from its checkpoint. To end \
          it for good, cancel it.</p>
          """,
        fields: """
          <label>As if for <select name="reason"><option value="">no reason in particular</option>\(options)</select></label>
          """, button: "Stop now", back: back(record))
    },
    perform: { visit, identifier, number, form in
      let text = try form.text("reason").flatMap { $0.isEmpty ? nil : $0 }
      let reason = try text.map { text throws(HTTPFailure) in
        guard let reason = ExpiryReason.Kind(rawValue: text), reason != .simulated else {
          throw HTTPFailure.invalid("'\(text.escapedForMessage)' is no reason for an expiry")
        }
        return reason
      }
      let launch = try await visit.run { try await $0.simulateExpiry(identifier, number: number, as: reason) }
      return Outcome(
        text: "Launch \(launch.launch) of \(identifier) #\(number) on \(launch.host) was asked to stop.",
        page: Parts.link(of: identifier, number))
    })
}
