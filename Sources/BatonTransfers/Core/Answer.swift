package import BatonModel

/// What the head of an answer means for an attempt.
package enum Answer: Hashable, Sendable {
  /// The bytes of the answer are bytes of the file.
  case receive(Reception)
  /// The partial file is the whole file already.
  case complete
  /// The server has accepted the file that was sent.
  case accepted
  /// The file is at another address.
  case follow(WebAddress)
  case end(AttemptEnd)

  package static let mostRedirects = 10

  /// Decides what an answer means.
  /// - Parameters:
  ///   - plan: what the attempt asked for.
  ///   - address: where the answer came from.
  ///   - redirects: how many redirects the attempt has followed.
  ///   - date: the host's wall clock.
  package static func to(
    _ plan: AttemptPlan, head: ResponseHead, from address: WebAddress, redirects: Int, at date: Timestamp
  ) -> Answer {
    let answer = "\(address.shown) answered \(head.status)"
    let isUpload = plan.assignment.transfer.method != .get
    switch head.status {
    case 200, 203: return isUpload ? .accepted : whole(plan, head, answer)
    case 201...299 where isUpload: return .accepted
    case 206: return part(plan, head, answer)
    case 301, 302, 303, 307, 308: return redirect(plan, head, address, redirects, answer)
    case 401, 403, 407:
      return failed(.unauthorized, "\(answer): it wants other credentials. Check the headers and their secrets.")
    case 416: return unsatisfied(plan, head, answer)
    // 501 and 505 say that the server will never do what was asked for.
    case 408, 425, 429, 500, 502...504, 506...599: return .end(.busy(answer, retryAfter: head.retryAfter(at: date)))
    case _: return failed(.refusedByServer, "\(answer), which another attempt would not change. Check the address.")
    }
  }

  private static func failed(_ code: TransferFailure.Code, _ text: String) -> Answer {
    .end(.failed(TransferFailure(code, text)))
  }

  /// The whole file: the server ignored the range, or has another version of the file, or no range was asked for.
  private static func whole(_ plan: AttemptPlan, _ head: ResponseHead, _ answer: String) -> Answer {
    if let problem = wrongSize(plan, head.contentLength, answer) { return problem }
    return .receive(Reception(from: 0, total: head.contentLength, validator: head.validator))
  }

  private static func part(_ plan: AttemptPlan, _ head: ResponseHead, _ answer: String) -> Answer {
    guard plan.offset > 0 else {
      return failed(.refusedByServer, "\(answer), a part of the file, but the whole file was asked for.")
    }
    guard let range = head.contentRange, range.first == plan.offset else {
      let range = head["content-range"].map { "the range '\($0.prefix(60))'" } ?? "no range"
      return .end(.startOver("\(answer) with \(range), but byte \(plan.offset) was asked for", rangesLie: true))
    }
    if let length = head.contentLength, length != range.last - range.first + 1 {
      return .end(.startOver("\(answer) with another length than its range has", rangesLie: true))
    }
    if let tag = head["etag"], let asked = plan.validator, asked.isTag, tag != asked.text {
      return .end(.startOver("\(answer) with a part of another version of the file", rangesLie: true))
    }
    if let total = plan.total, let other = range.total, total != other {
      return .end(.startOver("\(answer) with a part of a file of \(other) bytes, and not \(total)", rangesLie: true))
    }
    if let problem = wrongSize(plan, range.total, answer) { return problem }
    return .receive(Reception(from: plan.offset, total: range.total ?? plan.total, validator: plan.validator))
  }

  private static func wrongSize(_ plan: AttemptPlan, _ total: Int64?, _ answer: String) -> Answer? {
    guard let total, let size = plan.assignment.transfer.size, total != size else { return nil }
    return failed(
      .wrongSize, "\(answer) with a file of \(total) bytes, but the transfer says \(size). Correct 'size', or the file."
    )
  }

  /// No byte of the file is at or after the offset. The server compared the validator before it said so.
  private static func unsatisfied(_ plan: AttemptPlan, _ head: ResponseHead, _ answer: String) -> Answer {
    guard plan.offset > 0 else { return failed(.refusedByServer, "\(answer), but no range was asked for.") }
    if head.unsatisfiedLength == plan.offset, plan.total ?? plan.offset == plan.offset { return .complete }
    return .end(.startOver("\(answer) to a range of its own file", rangesLie: true))
  }

  private static func redirect(
    _ plan: AttemptPlan, _ head: ResponseHead, _ address: WebAddress, _ redirects: Int, _ answer: String
  ) -> Answer {
    guard redirects < mostRedirects else {
      return failed(.redirect, "\(answer), the redirect number \(redirects + 1). A transfer follows \(mostRedirects).")
    }
    guard let location = head["location"], let next = address.following(location) else {
      return failed(.redirect, "\(answer) without an address that a transfer can follow.")
    }
    if address.scheme == .https, next.scheme == .http {
      return failed(.redirect, "\(answer): it redirects from https to http, which would expose the transfer.")
    }
    if plan.assignment.transfer.method != .get, head.status < 307 {
      return failed(.redirect, "\(answer): a file that is sent is redirected by 307 or 308 only.")
    }
    return .follow(next)
  }
}

extension Transfer {
  /// The header fields that go to another server after a redirect: none that could be credentials.
  private static let harmless: Set<String> = ["accept", "accept-language", "user-agent"]

  /// The header fields for a request to `address`.
  package func headers(for address: WebAddress) -> [String: TransferHeader] {
    if WebAddress(url)?.origin == address.origin { return headers }
    return headers.filter {
      Self.harmless.contains($0.key.lowercased()) && $0.value.secret == nil && $0.value.variable == nil
    }
  }
}
