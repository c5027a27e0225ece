import BatonBase
import BatonCoordinator
import BatonJSON
import HTTPTypes

extension Route {
  static let changes = [Route(.get, "/v1/changes", .method("Changes"), waits: true, follow)]

  /// How often a stream without news has a comment, so that proxies do not take it for dead.
  static let pulse = Duration.seconds(15)

  /// Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html): what has changed, once a
  /// second at most, until the coordinator shuts down or the credential ends.
  @Sendable package static func follow(_ call: Call) async throws -> Answer {
    let place = try call.waits.place()
    return Answer(
      body: .stream(type: "text/event-stream") { write in
        defer { withExtendedLifetime(place) {} }
        guard let permitted = call.permitted else { return }
        // One task writes: the pulse and the news come through the same mailbox.
        let texts = Mailbox<String>(capacity: 64)
        try await permitted.runWhileValid { api in
          try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
              defer { texts.close() }
              try await api.changes { texts.send(event($0)) }
            }
            group.addTask {
              repeat { try await call.calls.sleep(pulse) } while texts.send(": \n\n")
            }
            defer { group.cancelAll() }
            while let news = await texts.receive() {
              for text in news { try await write(Array(text.utf8)) }
            }
          }
        }
      })
  }

  private static func event(_ topics: Set<ChangeTopic>) -> String {
    let names = topics.map(\.text).sorted().map { JSONValue.string($0) }
    let object: JSONValue = ["topics": .array(names)]
    return "event: changes\ndata: \(object.compact)\n\n"
  }
}
