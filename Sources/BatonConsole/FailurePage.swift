import BatonAPI
import BatonCoordinator
import HTTPTypes

/// The page of a call that was not carried out.
enum FailurePage {
  static func answer(_ failure: HTTPFailure) -> Answer {
    let title =
      switch failure.status {
      case 401: "Not signed in"
      case 403, 421: "Not permitted"
      case 404: "Not found"
      case 409: "Not possible now"
      case 429: "Too many changes"
      case 503: "The coordinator does not answer"
      default: "This did not work"
      }
    let main: HTML = """
      <h1>\(title)</h1>
      <p class="failure" role="alert">\(failure.message)</p>
      <p><a class="button" href="/">Overview</a></p>
      """
    let page = Page(title: title, reloads: failure.status == 503, main: main)
    var answer = Answer(Document.text(page, nil), HTTPResponse.Status(code: failure.status))
    if let pause = failure.retryAfter { answer.headers[.retryAfter] = "\(max(1, pause.components.seconds))" }
    return answer
  }
}

extension Answer {
  init(_ document: HTML, _ status: HTTPResponse.Status = .ok) {
    self.init(body: .bytes(Array(document.text.utf8), type: "text/html; charset=utf-8"), status)
  }
}
