import BatonAPI

extension Console {
  var requestRoutes: [Route] { [] }
}
