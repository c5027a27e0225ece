internal import BatonModel
internal import BatonProtobuf
internal import BatonWire
internal import GRPCCore
internal import SwiftProtobuf

extension JobClient {
  /// Returns a request as it is now.
  /// - Throws: `JobClientError`: `.notFound` if there is no such request.
  public func request(_ name: JobRequest.Name) async throws -> JobRequest {
    let request = try Self.show(name)
    let reply = try await calls.call { operators, metadata in
      try await operators.show(request, metadata: metadata, options: CoordinatorClient.callOptions)
    }
    return try wired { try JobRequest(reply.request) }
  }

  /// Lists requests, those first that were submitted last. If all `states` are ended ones, those come first that ended
  /// last.
  /// - Parameters:
  ///   - states: only requests in these states; empty means all.
  ///   - pattern: only requests of this identifier, or below a prefix such as `com.example.import.*`; `nil` means all.
  ///   - last: the last request of the list before, to go on after it; `nil` begins with the first one.
  ///   - limit: how many requests at most, 1 to 1,000. The list has fewer only if there are no more.
  /// - Throws: `JobClientError`: `.invalid` if the pattern is not well-formed.
  public func requests(
    in states: Set<JobRequest.State> = [], matching pattern: String? = nil, after last: JobRequest? = nil,
    limit: Int = 100
  ) async throws -> [JobRequest] {
    let limit = min(max(1, limit), Self.largestList)
    var request = Baton_V1_ListRequest.with {
      $0.states = states.map(\.rawValue).sorted()
      ($0.newestFirst, $0.takesShortPages) = (true, true)
      if let last { $0.after = last.id }
    }
    if let pattern { request.pattern = try Self.pattern(pattern) }
    var found: [JobRequest] = []
    // A page ends early if its requests do not fit into one message.
    while true {
      request.limit = Int32(limit - found.count)
      let reply = try await calls.call { [request] operators, metadata in
        try await operators.list(request, metadata: metadata, options: CoordinatorClient.callOptions)
      }
      found += try wired { try reply.requests.map(JobRequest.init) }
      guard reply.hasMore_p, found.count < limit, let last = found.last else { return found }
      request.after = last.id
    }
  }

  /// Lists the requests that wait for a launch, as `requests(in:matching:after:limit:)` does.
  public func pending(matching pattern: String? = nil, limit: Int = 100) async throws -> [JobRequest] {
    try await requests(in: [.scheduled, .ready], matching: pattern, limit: limit)
  }

  /// Lists the requests that run, as `requests(in:matching:after:limit:)` does.
  public func running(matching pattern: String? = nil, limit: Int = 100) async throws -> [JobRequest] {
    try await requests(in: [.running], matching: pattern, limit: limit)
  }

  private static let largestList = 1000

  private static func pattern(_ text: String) throws -> String {
    guard let pattern = IdentifierPattern(text) else {
      throw JobClientError(.invalid, "'\(text.onOneLine)' is not an identifier, nor one followed by '.*'")
    }
    return pattern.rawValue
  }

  /// Says why a request does or does not run, and what would start it.
  ///
  /// ```swift
  /// let explanation = try await client.explain("com.example.import.orders")
  /// if explanation.verdict == .impossible { print(explanation.text) }
  /// ```
  ///
  /// The sample is from `Examples/Client/ImportClient.swift`.
  /// - Throws: `JobClientError`: `.notFound` if there is no such request.
  public func explain(_ name: JobRequest.Name) async throws -> JobExplanation {
    let request = try Self.show(name)
    let pages = try await calls.call(within: Self.pages) { operators, metadata in
      try await operators.explainPages(request, metadata: metadata, options: CoordinatorClient.callOptions) {
        response in
        var pages: [Baton_V1_ExplainReply] = []
        for try await page in response.messages { pages.append(page) }
        return pages
      }
    }
    return try wired { try JobExplanation(pages) }
  }
}
