import BatonModel

extension RequestState {
  var colour: Style.Colour? {
    switch self {
    case .scheduled: .grey
    case .ready: .yellow
    case .running: .cyan
    case .succeeded: .green
    case .failed, .cancelled: .red
    }
  }
}
