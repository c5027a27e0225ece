import BatonAPI
import BatonCoordinator
import BatonJSON
import BatonModel
import BatonStore

/// What can be done with several requests at once, at most `Question.mostAtOnce`.
enum SelectedRequests {
  static let all = [cancel, retry]

  private static let cancel = action(
    "cancel", "Cancel",
    question: { records in
      let running = records.count { $0.state == .running }
      return (
        "Cancel \(counted(records.count, "request"))",
        """
        <p>\(running) of them \(running == 1 ? "runs" : "run") now: what runs may finish its batch within its closing \
        window. All end for good.</p>
        """, "Cancel \(counted(records.count, "request"))"
      )
    },
    perform: { api, identifier, number, principal in
      try await api.cancel(.identifier(identifier, number: number), by: principal).isEmpty ? nil : "cancelled"
    })

  private static let retry = action(
    "retry", "Retry",
    question: { records in
      let failed = records.count { $0.state == .failed }
      return (
        "Retry \(counted(records.count, "request"))",
        "<p>\(failed) of them \(failed == 1 ? "has" : "have") failed and will go on at their checkpoints.</p>" as HTML,
        "Retry \(counted(failed, "request"))"
      )
    },
    perform: { api, identifier, number, _ in
      _ = try await api.retry(identifier, number: number, skipping: .nothing, withNewDefinition: false)
      return "going on"
    })

  private static func action(
    _ part: String, _ method: String,
    question: @escaping @Sendable ([RequestRecord]) -> (title: String, text: HTML, button: String),
    perform: @escaping @Sendable (any OperatorAPI, JobIdentifier, Int, String) async throws -> String?
  ) -> Action {
    let back = Link("requests")
    return Action(
      path: "/requests/\(part)", method: method, fields: ["id"],
      question: { visit, query in
        let names = try names(query)
        let records = try await visit.run { try await Self.records(named: names, $0) }
        let (title, text, button) = question(records)
        let rows = records.map { record -> HTML in
          "<li>\(Parts.request(record.identifier, record.number)) \(Parts.state(record.state))</li>"
        }
        let hidden = names.map { Parts.hidden("id", "\($0.0)#\($0.1)") }
        return Question(
          title: title, text: "\(text)<ul class=\"items\">\(rows)</ul>", fields: "\(hidden)", button: button,
          count: records.count, isDangerous: part == "cancel", back: back)
      },
      perform: { visit, form in
        var (done, failures) = (0, [String]())
        for (identifier, number) in try names(form) {
          do {
            let word = try await visit.run { try await perform($0, identifier, number, visit.principal) }
            if word != nil { done += 1 }
          } catch let failure as HTTPFailure where failure.status != 401 && failure.status != 503 {
            failures.append("\(identifier) #\(number): \(failure.message)")
          }
        }
        let word = part == "cancel" ? "cancelled" : "going on"
        let problems = failures.isEmpty ? "" : " \(failures.count) not: \(failures.prefix(3).joined(separator: "; "))"
        return Outcome(text: "\(counted(done, "request")) \(word).\(problems)", page: back)
      })
  }

  /// The newest requests of an identifier that are listed at once.
  private static let listed = 50

  /// The requests in the order of their names. A list of each identifier has nearly all of them, and costs the
  /// coordinator less than the details of each request.
  private static func records(
    named names: [(JobIdentifier, Int)], _ api: any OperatorAPI
  ) async throws -> [RequestRecord] {
    let identifiers = Set(names.map(\.0))
    let found = try await withThrowingTaskGroup(of: [RequestRecord].self) { group in
      for identifier in identifiers {
        let filter = RequestFilter(pattern: IdentifierPattern(identifier), isNewestFirst: true)
        group.addTask { try await api.requests(filter, after: nil, limit: listed) }
      }
      return try await group.reduce(into: [JobIdentifier: [Int: RequestRecord]]()) { known, page in
        for record in page { known[record.identifier, default: [:]][record.number] = record }
      }
    }
    var records: [RequestRecord] = []
    for (identifier, number) in names {
      if let record = found[identifier]?[number] {
        records.append(record)
      } else {
        records.append(try await api.details(identifier, number: number).record)
      }
    }
    return records
  }

  /// The requests that were selected, as `IDENTIFIER#NUMBER`.
  private static func names(_ query: Query) throws(HTTPFailure) -> [(JobIdentifier, Int)] {
    let texts = query.list("id")
    guard !texts.isEmpty else {
      throw .invalid("no request is selected: tick the boxes before the requests, at most \(Question.mostAtOnce)")
    }
    var names: [(JobIdentifier, Int)] = []
    for text in texts {
      let parts = text.split(separator: "#", maxSplits: 1).map(String.init)
      guard parts.count == 2, let identifier = JobIdentifier(parts[0]), let number = Int(parts[1]),
        (1...Int(Int32.max)).contains(number)
      else { throw .invalid("'\(text.escapedForMessage)' is not a request, such as com.example.a#2") }
      names.append((identifier, number))
    }
    return names
  }
}
