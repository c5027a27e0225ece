import BatonModel
import BatonStore

/// The calls that submit.
extension PermittedAPI {
  func submitFlow(_ orders: [SubmissionOrder], by principal: String) async throws -> [SubmissionResult] {
    try await takeSubmissions(orders.count, "SubmitFlow")
    if let other = orders.first(where: { !caller.covers($0.identifier) }) {
      await audit?.noteDenied(entry("SubmitFlow", other.identifier.rawValue), "outside of the credential's patterns")
      return orders.map { order in
        caller.covers(order.identifier)
          ? .refused(
            code: Refusal.Kind.unavailable.rawValue,
            message: "nothing of the flow was submitted, because another job of it is not permitted")
          : Self.unknown(order.identifier)
      }
    }
    let names = Set(orders.map(\.identifier)).sorted().map(\.rawValue).joined(separator: " ")
    let results = try await changing("SubmitFlow", names, claiming: principal) {
      try await api.submitFlow(orders, by: caller.principal(claiming: principal))
    } nothing: {
      Self.refusals($0)
    }
    return caller.limits == nil ? results : zip(orders, results).map(Self.withoutNames)
  }

  /// - Throws: `.overloaded` if the credential submits more than it may.
  private func takeSubmissions(_ count: Int, _ method: String) async throws {
    guard let credential = caller.credential, meter?.takeSubmissions(count, of: credential.id) == false else { return }
    await audit?.noteDenied(.submissions, caller.name, from: caller.peer, calling: method)
    throw OperatorError.overloaded(
      "the credential '\(caller.name)' submits more than rates.submissions permits; nothing was submitted")
  }

  func submit(_ orders: [SubmissionOrder], by principal: String) async throws -> [SubmissionResult] {
    if !caller.may(.operate), let order = orders.first(where: { $0.poke == .immediate }) {
      throw await refuse(
        "Submit", order.identifier.rawValue,
        .notPermitted("a poke of priority 10 needs the scope 'operate', because it may disturb people"),
        "a poke of priority 10")
    }
    try await takeSubmissions(orders.count, "Submit")
    let permitted = orders.filter { caller.covers($0.identifier) }
    if let other = orders.first(where: { !caller.covers($0.identifier) }) {
      await audit?.noteDenied(entry("Submit", other.identifier.rawValue), "outside of the credential's patterns")
    }
    var results: [SubmissionResult] = []
    if !permitted.isEmpty {
      let names = Set(permitted.map(\.identifier)).sorted().map(\.rawValue).joined(separator: " ")
      results = try await changing("Submit", names, claiming: principal) {
        try await api.submit(permitted, by: caller.principal(claiming: principal))
      } nothing: {
        Self.refusals($0)
      }
      if caller.limits != nil { results = zip(permitted, results).map(Self.withoutNames) }
    }
    var answers = results[...]
    return orders.map { caller.covers($0.identifier) ? answers.removeFirst() : Self.unknown($0.identifier) }
  }

  /// The codes of the refusals, if every order was refused.
  private static func refusals(_ results: [SubmissionResult]) -> String? {
    let codes = results.compactMap { if case .refused(let code, _) = $0 { code } else { nil } }
    return codes.count == results.count ? Set(codes).sorted().joined(separator: " ") : nil
  }

  private static func unknown(_ identifier: JobIdentifier) -> SubmissionResult {
    let refusal = Refusal.notPermitted(identifier, nearest: nil)
    return .refused(code: refusal.code, message: refusal.message)
  }

  /// The answer without the name of a similar job, which the caller may not know of.
  private static func withoutNames(_ order: SubmissionOrder, _ result: SubmissionResult) -> SubmissionResult {
    guard case .refused(let code, _) = result, code == Refusal.Kind.notPermitted.rawValue else { return result }
    return unknown(order.identifier)
  }
}
